package keys

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

func itoa(n int) string { return strconv.Itoa(n) }

// directory is a key repository on disk, as Keystone documents it: files named by numbers.
type directory map[string][]byte

// loadKeys returns the keys that Keystone loads: non-empty files whose names are numbers, the highest first.
func loadKeys(d directory) []string {
	type file struct {
		number int
		text   string
	}
	var files []file
	for name, text := range d {
		number, err := strconv.Atoi(name)
		if err == nil && len(text) > 0 {
			files = append(files, file{number, string(text)})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.number - a.number })
	var out []string
	for _, f := range files {
		out = append(out, f.text)
	}
	return out
}

// fernetRotate is the documented rotation of files: the staged file is renamed to one more than the highest, a new staged
// file is written, and the lowest other files are removed while there are more than allowed.
func fernetRotate(d directory, fresh string, maxActive int) {
	highest := 0
	for name := range d {
		n, _ := strconv.Atoi(name)
		highest = max(highest, n)
	}
	d[itoa(highest+1)] = d["0"]
	d["0"] = []byte(fresh)
	for len(d) > maxActive {
		lowest := highest + 1
		for name := range d {
			if n, _ := strconv.Atoi(name); n > 0 {
				lowest = min(lowest, n)
			}
		}
		delete(d, itoa(lowest))
	}
}

// TestSetRotatesLikeKeystone rotates a set and a directory in parallel, with changing limits.
func TestSetRotatesLikeKeystone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := random(rapid.Byte().Draw(t, "seed"))
		set, err := Setup(source)
		if err != nil {
			t.Fatal(err)
		}
		model := directory(set.Data())
		for range rapid.IntRange(1, 40).Draw(t, "rotations") {
			limit := rapid.IntRange(2, 12).Draw(t, "limit")
			before := maps.Clone(set)
			purged := set.Purged(limit)
			next, err := set.Rotate(source, limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, set); diff != "" {
				t.Fatal("rotating changed the old set", diff)
			}
			fernetRotate(model, string(next[Staged]), limit)
			if diff := cmp.Diff(map[string][]byte(model), next.Data()); diff != "" {
				t.Fatal(diff)
			}
			if next[next.Primary()] != set[Staged] || next[Staged] == set[Staged] {
				t.Fatal("the staged key is not the primary now")
			}
			for _, index := range set.Indexes() {
				if _, retained := next[index]; index != Staged && retained == slices.Contains(purged, index) {
					t.Fatalf("expected to purge %v, but key %d is kept: %v", purged, index, retained)
				}
			}
			if _, err := Parse(next.Data()); err != nil {
				t.Fatal(err)
			}
			set = next
		}
	})
}

// TestPodsDecryptTokensUntilExpiry is the guarantee: data encrypted by any pod can be decrypted by all pods, with the current, the previous
// or the next distributed set, for the lifetime of a token. Rotations follow the controller's rule: all pods have the set before the next
// one is created, and no key is purged that the log requires. Delays, schedules, lifetimes and limits are arbitrary.
func TestPodsDecryptTokensUntilExpiry(t *testing.T) {
	type token struct {
		key     Key
		expires time.Time
	}
	rapid.Check(t, func(t *rapid.T) {
		source := random(1)
		now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		lifetime := time.Duration(rapid.IntRange(1, 200).Draw(t, "lifetime")) * time.Hour
		limit := rapid.IntRange(3, 9).Draw(t, "limit")
		set, _ := Setup(source)
		pods := []Set{set, set, set}
		ledger := RetirementLog{}
		var tokens []token
		use := func() {
			tokens = slices.DeleteFunc(tokens, func(k token) bool { return !k.expires.After(now) })
			for _, pod := range pods {
				tokens = append(tokens, token{pod[pod.Primary()], now.Add(lifetime)})
			}
			for _, k := range tokens {
				for i, pod := range append(pods, set) {
					if !slices.Contains(slices.Collect(maps.Values(pod)), k.key) {
						t.Fatalf("pod %d with keys %v cannot read a token until %s", i, pod.Indexes(), k.expires)
					}
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { use() },
			"time passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
			},
			"kubelet": func(t *rapid.T) { pods[rapid.IntRange(0, 2).Draw(t, "pod")] = set },
			"rotate": func(t *rapid.T) {
				for _, pod := range pods {
					if pod.Primary() != set.Primary() {
						t.Skip("not distributed")
					}
				}
				ledger = ledger.Retire(set, now, lifetime)
				from, ok := ledger.Free(set, limit)
				if !ok || from.After(now) {
					t.Skip("needed")
				}
				next, err := set.Rotate(source, limit)
				if err != nil {
					t.Fatal(err)
				}
				set, ledger = next, ledger.Of(next)
			},
		})
	})
}

// TestNeededKeysSuffice checks that the number of keys is sufficient for punctual rotations: the log never delays one. One key
// fewer is not sufficient.
func TestNeededKeysSuffice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"0 0 * * *", "0 */6 * * *", "0 0 * * 0", "15 3 * * 1,4"}).Draw(t, "schedule")
		s, err := schedule.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lifetime := time.Duration(rapid.IntRange(1, 300).Draw(t, "hours")) * time.Hour
		need := rotation.NeededKeys(lifetime, 0, s)
		for missing, want := range map[int]bool{0: true, 1: false} {
			set, _ := Setup(random(1))
			ledger := RetirementLog{}
			at, punctual := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), true
			for range 60 {
				at = s.Next(at)
				// All pods have the keys immediately, so that the old primary retired when they were written.
				from, ok := ledger.Free(set, max(need.Keys-missing, 2))
				punctual = punctual && ok && !from.After(at)
				set, _ = set.Rotate(random(2), max(need.Keys-missing, 2))
				ledger = ledger.Retire(set, at, lifetime)
			}
			// Uneven schedules need fewer keys than their shortest interval implies.
			if uneven := text == "15 3 * * 1,4"; punctual != want && (missing == 0 || !uneven) {
				t.Fatalf("%d keys are enough: %v. %s", need.Keys-missing, punctual, need.Reason)
			}
		}
	})
}
