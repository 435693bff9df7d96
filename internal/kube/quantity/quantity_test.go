package quantity_test

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"empty":    {reason: "The field has a default."},
		"quantity": {reason: "It is valid.", text: "1.5Gi"},
		"unit":     {reason: "A remedy is required.", text: "10GB", want: `spec.storageSize: "10GB" is not a quantity; set one such as 10Gi`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := quantity.Check("spec.storageSize", tc.text); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s\nCheck(...): %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1Ki": 1024, "1500m": 2, "2Gi": 2 << 30} {
		if got := quantity.Bytes(text); got != want {
			t.Errorf("Bytes(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestBytesPanicsForInvalidSize checks that an invalid size is a bug, and not a size of 0.
func TestBytesPanicsForInvalidSize(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Bytes accepts an invalid size")
		}
	}()
	quantity.Bytes("10GB")
}
