package c5c3

import (
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// TestDerivedName tests that a short name is not changed, and that a long name is cut without a trailing hyphen or dot and stays unique.
func TestDerivedName(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for name, tc := range map[string]struct{ reason, name, want string }{
		"Short": {reason: "It is read.", name: "fernet", want: "fernet-restore"},
		"Fits":  {reason: "A label may have 63 characters.", name: a(55), want: a(55) + "-restore"},
		"Long":  {reason: "The hash is of the whole name.", name: a(56), want: a(44) + "-" + names.Hash(10, a(56)) + "-restore"},
		"Ends": {
			reason: "A hash follows one hyphen.", name: a(41) + ".-." + a(20),
			want: a(41) + "-" + names.Hash(10, a(41)+".-."+a(20)) + "-restore",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := DerivedName(tc.name, "restore")
			if got != tc.want || len(got) > 63 {
				t.Errorf("%s\nDerivedName(%q) = %q, want %q", tc.reason, tc.name, got, tc.want)
			}
			if other := RestoreName(tc.name); other != got {
				t.Errorf("RestoreName(%q) = %q, want %q", tc.name, other, got)
			}
		})
	}
}
