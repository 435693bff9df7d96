package operators

import (
	"encoding/base64"
	"testing"
)

// TestContainsPlanted checks that the planted value is found wherever it is written, in plain text or in base64.
func TestContainsPlanted(t *testing.T) {
	for _, before := range []string{"", "a", "ab", "abc", "user:", "[global]\nkey = "} {
		for _, after := range []string{"", "1", "12", "123", "\n"} {
			text := before + planted + after
			if !ContainsPlanted([]byte("{"+text+"}")) || !ContainsPlanted([]byte("{"+base64.StdEncoding.EncodeToString([]byte(text))+"}")) {
				t.Errorf("%q is not seen", text)
			}
		}
	}
	for _, text := range []string{"", planted[1:], planted[:len(planted)-1], base64.StdEncoding.EncodeToString([]byte(planted[2:]))} {
		if ContainsPlanted([]byte(text)) {
			t.Errorf("%q is seen", text)
		}
	}
}
