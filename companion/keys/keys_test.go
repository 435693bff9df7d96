package keys

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
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

func TestCreatesNoKeysWithoutEntropy(t *testing.T) {
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

func TestRotateRejectsInvalidSetOrLimit(t *testing.T) {
	key := func(seed byte) Key { k, _ := newKey(random(seed)); return k }
	for name, tc := range map[string]struct {
		reason string
		set    Set
		limit  int
	}{
		"NoStaged":  {"Keystone has nothing to promote.", Set{1: key(1), 2: key(2)}, 3},
		"NoPrimary": {"A single key is both primary and staged.", Set{0: key(1)}, 3},
		"Empty":     {"It has no keys.", Set{}, 3},
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
		"Nothing": {"An empty Secret.", nil, []string{"key 0", "no primary"}},
		"Name": {
			"Keystone ignores names that are not numbers, which is probably a mistake.",
			with(func(d map[string][]byte) { d["notes.txt"] = []byte("x") }), []string{`"notes.txt"`},
		},
		"Padded": {"Keystone reads 01 and 1 as the same key.", with(func(d map[string][]byte) { d["01"] = []byte(another) }),
			[]string{`"01"`}},
		"Sign":     {"Keystone reads +2 as 2.", with(func(d map[string][]byte) { d["+2"] = []byte(another) }), []string{`"+2"`}},
		"Negative": {"Keystone reads it as a key.", with(func(d map[string][]byte) { d["-1"] = []byte(another) }), []string{`"-1"`}},
		"Huge": {"A status has 32 bits.", with(func(d map[string][]byte) { d["4294967296"] = []byte(another) }),
			[]string{`"4294967296"`}},
		"Huge31": {"And one of them is the sign bit.", with(func(d map[string][]byte) { d["2147483648"] = []byte(another) }),
			[]string{`entry "2147483648" is not a key`}},
		"Largest": {"This is the maximum.", with(func(d map[string][]byte) { d["2147483647"] = []byte(another) }),
			[]string{"between 1 and 2147483647"}},
		"NoStaged":  {"The next rotation has nothing to promote.", with(func(d map[string][]byte) { delete(d, "0") }), []string{"key 0"}},
		"NoPrimary": {"Then 0 encrypts.", with(func(d map[string][]byte) { delete(d, "1") }), []string{"no primary"}},
		"Gap":       {"A secondary was deleted.", with(func(d map[string][]byte) { d["3"] = []byte(another) }), []string{"between 1 and 3"}},
		"Empty":     {"Keystone ignores it.", with(func(d map[string][]byte) { d["1"] = nil }), []string{"key 1 is empty"}},
		"Short": {"16 bytes.", with(func(d map[string][]byte) { d["1"] = d["1"][:24] }),
			[]string{"key 1 is malformed: a key must be 32 bytes in URL-safe base64, exactly 44 characters"}},
		"LineEnd": {"echo without -n.", with(func(d map[string][]byte) { d["1"] = append(d["1"], '\n') }), []string{"key 1 is malformed"}},
		"StandardCode": {"+ and / are another alphabet.", with(func(d map[string][]byte) { d["1"] = []byte("+/" + string(d["1"][2:])) }),
			[]string{"key 1 is malformed"}},
		"NullKey": {
			"Keystone's fallback key.",
			with(func(d map[string][]byte) { d["1"] = []byte(base64.URLEncoding.EncodeToString(make([]byte, 32))) }), []string{"null key"},
		},
		"Twice": {"A copied key does not rotate.", with(func(d map[string][]byte) { d["1"] = d["0"] }), []string{"keys 0 and 1 are the same"}},
		"LastTwice": {"The error contains the original key.", with(func(d map[string][]byte) { d["2"] = d["1"] }),
			[]string{"keys 1 and 2 are the same"}},
		"All": {
			"All errors are reported together.",
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
					t.Errorf("%q does not contain %q. %s", err, want, tc.reason)
				}
			}
			for _, key := range good {
				if strings.Contains(err.Error(), string(key)) {
					t.Error("the error reveals a key")
				}
			}
		})
	}
	t.Run("EmptyTwice", func(t *testing.T) {
		if _, err := Parse(with(func(d map[string][]byte) { d["1"], d["2"] = nil, nil })); strings.Contains(err.Error(), "the same") {
			t.Errorf("empty keys are not also reported as duplicates: %s", err)
		}
	})
	t.Run("Purged", func(t *testing.T) {
		set := Set{0: good[0], 7: good[1], 8: another}
		if _, err := Parse(set.Data()); err != nil {
			t.Errorf("the gap above the staged key is a result of purging: %s", err)
		}
	})
}

// TestPurged: neither the staged key nor a missing one is purged.
func TestPurged(t *testing.T) {
	for _, tc := range []struct {
		set   Set
		limit int
		want  []int
	}{
		{Set{0: "a", 1: "b"}, 3, []int{}}, {Set{0: "a", 1: "b"}, 2, []int{1}}, {Set{0: "a", 3: "b", 4: "c", 5: "d"}, 3, []int{3, 4}},
		{Set{0: "a"}, 1, []int{}}, {Set{}, 0, nil},
	} {
		if diff := cmp.Diff(tc.want, tc.set.Purged(tc.limit)); diff != "" {
			t.Errorf("of %v to %d (-want +got):\n%s", tc.set.Indexes(), tc.limit, diff)
		}
	}
	if _, err := (Set{0: "a", 1: "b"}).Rotate(random(1), 1); err == nil || !strings.Contains(err.Error(), "at least 2 keys, not 1") {
		t.Error(err)
	}
}

// FuzzParse modifies a Secret. Accepted keys must be exactly those that Keystone would load, and must rotate.
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
	observed := map[string]string{}
	for name, h := range map[string]string{
		"set": set.Hash(), "next": next.Hash(), "swapped": swapped.Hash(), "empty": Hash(nil),
		"split": Hash(map[string][]byte{"1": []byte("2"), "3": nil}), "joined": Hash(map[string][]byte{"1": []byte("23")}),
	} {
		if other, ok := observed[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		if len(h) != 32 {
			t.Errorf("%s: %d digits", name, len(h))
		}
		observed[h] = name
	}
	if set.Hash() != Hash(set.Data()) {
		t.Error("a set and its entries have different hashes")
	}
}
