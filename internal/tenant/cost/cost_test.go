package cost

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestRounded checks that an excessive amount is not rounded to one that would be allowed.
func TestRounded(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "9": "9", "42650m": "43", "500": "500", "16512Mi": "17Gi", "9Gi": "9216Mi", "10Gi": "10Gi", "10241Mi": "11Gi",
		"8100Ti": "8100Ti", "1e30": "1e30", "9223372036854775807": "8388608Ti",
	} {
		if got := rounded(resource.MustParse(in)); got != want {
			t.Errorf("rounded(%s) = %s, want %s", in, got, want)
		}
	}
}
