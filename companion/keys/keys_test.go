package keys

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func random(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func TestSetup(t *testing.T) {
	set, err := Setup(random(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1}, set.Indexes()); diff != "" {
		t.Error(diff)
	}
	if set.Primary() != 1 || set[0] == set[1] {
		t.Errorf("primary %d, keys alike: %v", set.Primary(), set[0] == set[1])
	}
	if _, err := Parse(set.Data()); err != nil {
		t.Error(err)
	}
}

func TestNoRandomness(t *testing.T) {
	broken := iotest.ErrReader(errors.New("no entropy"))
	if _, err := Setup(broken); err == nil {
		t.Error("made keys of nothing")
	}
	set, _ := Setup(random(1))
	before := set.Hash()
	if next, err := set.Rotate(broken, 3); err == nil || next != nil {
		t.Error("rotated to a key of nothing")
	}
	if set.Hash() != before {
		t.Error("a rotation that failed changed the set")
	}
}

func TestRotateRefuses(t *testing.T) {
	key := func(seed byte) Key { k, _ := newKey(random(seed)); return k }
	for name, tc := range map[string]struct {
		reason string
		set    Set
		limit  int
	}{
		"NoStaged":  {"Keystone has nothing to promote.", Set{1: key(1), 2: key(2)}, 3},
		"NoPrimary": {"The staged key alone is primary and staged at once.", Set{0: key(1)}, 3},
		"Empty":     {"There is nothing to rotate.", Set{}, 3},
		"LimitOne":  {"The primary would be purged.", Set{0: key(1), 1: key(2)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.set.Rotate(random(9), tc.limit); err == nil {
				t.Error(tc.reason)
			}
		})
	}
}

func TestParse(t *testing.T) {
	good, _ := Setup(random(1))
	with := func(change func(map[string][]byte)) map[string][]byte {
		data := good.Data()
		change(data)
		return data
	}
	another, _ := newKey(random(7))
	for name, tc := range map[string]struct {
		reason string
		data   map[string][]byte
		want   []string
	}{
		"Nothing": {"A Secret that was emptied.", nil, []string{"key 0", "no primary"}},
		"Name": {
			"Keystone leaves out what is no number, and somebody will have meant something.",
			with(func(d map[string][]byte) { d["notes.txt"] = []byte("x") }), []string{`"notes.txt"`},
		},
		"Padded":       {"Keystone reads 01 and 1 as the same key.", with(func(d map[string][]byte) { d["01"] = []byte(another) }), []string{`"01"`}},
		"Sign":         {"Keystone reads +2 as 2.", with(func(d map[string][]byte) { d["+2"] = []byte(another) }), []string{`"+2"`}},
		"Negative":     {"Keystone reads it as a key.", with(func(d map[string][]byte) { d["-1"] = []byte(another) }), []string{`"-1"`}},
		"Huge":         {"A status has 32 bits.", with(func(d map[string][]byte) { d["4294967296"] = []byte(another) }), []string{`"4294967296"`}},
		"NoStaged":     {"The next rotation has nothing to promote.", with(func(d map[string][]byte) { delete(d, "0") }), []string{"key 0"}},
		"NoPrimary":    {"Then 0 encrypts.", with(func(d map[string][]byte) { delete(d, "1") }), []string{"no primary"}},
		"Gap":          {"A secondary was deleted.", with(func(d map[string][]byte) { d["3"] = []byte(another) }), []string{"between 1 and 3"}},
		"Empty":        {"Keystone leaves it out.", with(func(d map[string][]byte) { d["1"] = nil }), []string{"key 1 is empty"}},
		"Short":        {"16 bytes.", with(func(d map[string][]byte) { d["1"] = d["1"][:24] }), []string{"key 1 is malformed"}},
		"LineEnd":      {"echo without -n.", with(func(d map[string][]byte) { d["1"] = append(d["1"], '\n') }), []string{"key 1 is malformed"}},
		"StandardCode": {"+ and / are another alphabet.", with(func(d map[string][]byte) { d["1"] = []byte("+/" + string(d["1"][2:])) }), []string{"key 1 is malformed"}},
		"NullKey": {
			"Keystone's own key for want of any.",
			with(func(d map[string][]byte) { d["1"] = []byte(base64.URLEncoding.EncodeToString(make([]byte, 32))) }), []string{"null key"},
		},
		"Twice": {"A copy does not rotate.", with(func(d map[string][]byte) { d["1"] = d["0"] }), []string{"keys 0 and 1 are the same"}},
		"All": {
			"Everything is told at once.",
			map[string][]byte{"x": nil, "1": []byte("?"), "3": nil}, []string{`"x"`, "key 1", "key 3", "key 0", "between"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Parse(tc.data)
			if err == nil {
				t.Fatalf("took %v. %s", set.Indexes(), tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q. %s", err, want, tc.reason)
				}
			}
			for _, key := range good {
				if strings.Contains(err.Error(), string(key)) {
					t.Error("the error tells a key")
				}
			}
		})
	}
	t.Run("Purged", func(t *testing.T) {
		set := Set{0: good[0], 7: good[1], 8: another}
		if _, err := Parse(set.Data()); err != nil {
			t.Errorf("the gap above the staged key is what purging leaves: %s", err)
		}
	})
}

// FuzzParse edits a Secret by hand. What is taken has to be what Keystone would load, key by key, and has to rotate.
func FuzzParse(f *testing.F) {
	good, _ := Setup(random(1))
	f.Add("0", string(good[0]), "1", string(good[1]), "2", "")
	f.Add("0", string(good[0])+"\n", "01", string(good[1]), "-1", "x")
	f.Add("1_0", string(good[0]), " 1", string(good[1]), "١", string(good[1]))
	f.Fuzz(func(t *testing.T, n0, k0, n1, k1, n2, k2 string) {
		data := map[string][]byte{n0: []byte(k0), n1: []byte(k1), n2: []byte(k2)}
		set, err := Parse(data)
		if err != nil {
			return
		}
		loaded := loadKeys(directory(data))
		if len(loaded) != len(set) || loaded[0] != string(set[set.Primary()]) {
			t.Fatalf("Keystone loads %d keys of %v", len(loaded), set.Indexes())
		}
		if diff := cmp.Diff(data, set.Data()); diff != "" {
			t.Fatal(diff)
		}
		next, err := set.Rotate(random(3), 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(next.Data()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHash(t *testing.T) {
	set, _ := Setup(random(1))
	next, _ := set.Rotate(random(2), 3)
	swapped := Set{0: set[1], 1: set[0]}
	seen := map[string]string{}
	for name, h := range map[string]string{
		"set": set.Hash(), "next": next.Hash(), "swapped": swapped.Hash(), "empty": Hash(nil),
		"split": Hash(map[string][]byte{"1": []byte("2"), "3": nil}), "joined": Hash(map[string][]byte{"1": []byte("23")}),
	} {
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		if len(h) != 32 {
			t.Errorf("%s: %d digits", name, len(h))
		}
		seen[h] = name
	}
	if set.Hash() != Hash(set.Data()) {
		t.Error("a set and its entries have different hashes")
	}
}

func TestNeededKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		expiration, window time.Duration
		schedule           string
		want               int
	}{
		"Defaults": {"Weekly keeps the three that Keystone's default is.", time.Hour, 48 * time.Hour, "0 0 * * 0", 3},
		"Daily":    {"49 hours are three days.", time.Hour, 48 * time.Hour, "0 0 * * *", 5},
		"Exact":    {"48 hours are exactly two days.", 24 * time.Hour, 24 * time.Hour, "0 0 * * *", 4},
		"Uneven":   {"The shortest interval counts: Saturday to Sunday.", time.Hour, 48 * time.Hour, "0 0 * * 6,0", 5},
		"Hourly":   {"", time.Hour, 0, "0 * * * *", 3},
		"Minutely": {"", time.Hour, 48 * time.Hour, "* * * * *", 2942},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSchedule(tc.schedule)
			if err != nil {
				t.Fatal(err)
			}
			if n := NeededKeys(tc.expiration, tc.window, s); n.Keys != tc.want {
				t.Errorf("%d keys: %s. %s", n.Keys, n.Why, tc.reason)
			}
		})
	}
	s, _ := ParseSchedule("0 0 * * *")
	want := `a token is accepted for 49h0m0s (expiration 1h0m0s + allowed expired window 48h0m0s), and schedule "0 0 * * *" rotates every ` +
		"24h0m0s at the shortest: ceil(49h0m0s / 24h0m0s) = 3, and 2 for the primary and the staged key, makes 5 keys"
	if diff := cmp.Diff(want, NeededKeys(time.Hour, 48*time.Hour, s).Why); diff != "" {
		t.Error(diff)
	}
}

func TestParseSchedule(t *testing.T) {
	for name, tc := range map[string]struct {
		text     string
		shortest time.Duration // 0: refused
	}{
		"Daily":        {"30 2 * * *", day},
		"Weekly":       {"0 0 * * 0", 7 * day},
		"Monthly":      {"0 0 1 * *", 28 * day},
		"EndOfMonth":   {"0 0 31 * *", 31 * day},
		"LeapDay":      {"0 0 29 2 *", 1461 * day},
		"TwiceADay":    {"0 1,23 * * *", 2 * time.Hour},
		"MidnightPair": {"0,59 0,23 * * *", time.Minute},
		"Either":       {"0 0 1 * 0", day},
		"Friday13th":   {"0 0 13 * 5", day},
		"Never":        {"0 0 30 2 *", 0},
		"TimeZone":     {"TZ=Asia/Tokyo 0 0 * * *", 0},
		"Descriptor":   {"@daily", 0},
		"Seconds":      {"0 0 0 * * *", 0},
		"Range":        {"0 25 * * *", 0},
		"Nothing":      {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSchedule(tc.text)
			if (err != nil) != (tc.shortest == 0) {
				t.Fatal(err)
			}
			if err == nil && s.Shortest() != tc.shortest {
				t.Errorf("%s", s.Shortest())
			}
		})
	}
}

// TestShortest compares the shortest interval with what the schedule does in the years to come.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := func(low, high int, label string) string {
			one := rapid.Map(rapid.IntRange(low, high), itoa)
			return rapid.OneOf(rapid.Just("*"), one, rapid.Map(rapid.SliceOfN(one, 2, 3), func(l []string) string { return strings.Join(l, ",") })).Draw(t, label)
		}
		one := itoa(rapid.IntRange(0, 59).Draw(t, "minute"))
		text := strings.Join([]string{one, field(0, 23, "hour"), field(1, 28, "day"), field(1, 12, "month"), field(0, 6, "weekday")}, " ")
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		at := s.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
		for range 300 {
			next := s.Next(at)
			if next.Sub(at) < s.Shortest() {
				t.Fatalf("%s: %s after %s, but %s at the shortest", text, next, at, s.Shortest())
			}
			at = next
		}
	})
}

func BenchmarkParseSchedule(b *testing.B) {
	for b.Loop() {
		if _, err := ParseSchedule("0 0 29 2 *"); err != nil {
			b.Fatal(err)
		}
	}
}
