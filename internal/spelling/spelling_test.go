package spelling_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/spelling"
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
			if diff := cmp.Diff(tc.want, spelling.Closest(tc.name, slices.Values(fields))); diff != "" {
				t.Errorf("%s\nClosest(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
