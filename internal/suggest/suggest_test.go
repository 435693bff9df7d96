package suggest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

func TestClosest(t *testing.T) {
	fields := []string{"replicas", "resources", "size", "storageClass", "storageSize"}
	cases := map[string]struct {
		reason, name, want string
	}{
		"Missing":     {reason: "A letter is missing.", name: "replica", want: "replicas"},
		"Other":       {reason: "A letter is another.", name: "sise", want: "size"},
		"Swapped":     {reason: "Two letters changed places.", name: "relpicas", want: "replicas"},
		"Nearest":     {reason: "Of two names that are near, the nearer.", name: "storageSise", want: "storageSize"},
		"Alphabet":    {reason: "Of two that are as near, the first.", name: "storage", want: ""},
		"Far":         {reason: "It takes so many edits that it is another name.", name: "hostname", want: ""},
		"Nothing":     {reason: "Nothing is meant by nothing.", name: "", want: ""},
		"Itself":      {reason: "A name is its own nearest.", name: "size", want: "size"},
		"OtherLetter": {reason: "Case is a letter like any other.", name: "storagesize", want: "storageSize"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, suggest.Closest(tc.name, slices.Values(fields))); diff != "" {
				t.Errorf("%s\nClosest(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClosestLimitsDistanceByLength tests that a name is suggested if its distance is at most one plus one for each four letters.
func TestClosestLimitsDistanceByLength(t *testing.T) {
	word := func(shortest int) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.RuneFrom([]rune("ab_")), shortest, 9, -1)
	}
	rapid.Check(t, func(t *rapid.T) {
		name, candidates := word(0).Draw(t, "name"), rapid.SliceOfN(word(1), 0, 4).Draw(t, "candidates")
		want, least := "", 1+len(name)/4
		for _, c := range slices.Sorted(slices.Values(candidates)) {
			if d := edits(name, c); d < least || d == least && want == "" {
				want, least = c, d
			}
		}
		if got := suggest.Closest(name, slices.Values(candidates)); got != want {
			t.Errorf("Closest(%q, %q) = %q, want %q", name, candidates, got, want)
		}
	})
}

// edits returns the number of letters to insert, delete or replace to change a to b.
func edits(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return edits(a[1:], b[1:])
	}
	return 1 + min(edits(a[1:], b), edits(a, b[1:]), edits(a[1:], b[1:]))
}
