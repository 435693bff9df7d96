package operators

import (
	"encoding/base64"
	"testing"
)

// TestShows: a value is seen wherever somebody writes it, as it is or in base64.
func TestShows(t *testing.T) {
	for _, before := range []string{"", "a", "ab", "abc", "user:", "[global]\nkey = "} {
		for _, after := range []string{"", "1", "12", "123", "\n"} {
			text := before + planted + after
			if !Shows([]byte("{"+text+"}")) || !Shows([]byte("{"+base64.StdEncoding.EncodeToString([]byte(text))+"}")) {
				t.Errorf("%q is not seen", text)
			}
		}
	}
	for _, text := range []string{"", planted[1:], planted[:len(planted)-1], base64.StdEncoding.EncodeToString([]byte(planted[2:]))} {
		if Shows([]byte(text)) {
			t.Errorf("%q is seen", text)
		}
	}
}
