package identitycheck

import (
	"encoding/pem"
	"strings"
	"testing"
)

// TestCertificates: what is reported of an authority is its certificates, whatever else is in the Secret's key.
func TestCertificates(t *testing.T) {
	block := func(kind, body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(body), Headers: map[string]string{"Note": "secret"}}))
	}
	plain := func(body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(body)}))
	}
	for name, tc := range map[string]struct{ reason, in, want string }{
		"None":   {"Those of the system.", "", ""},
		"Two":    {"An authority that is being renewed has two.", plain("a") + plain("b"), plain("a") + plain("b")},
		"Key":    {"A key is nobody's business.", block("RSA PRIVATE KEY", "k") + plain("a") + block("PRIVATE KEY", "k"), plain("a")},
		"Words":  {"Nor are words.", "password: secret\n" + plain("a") + "more", plain("a")},
		"Header": {"Nor what stands in a block's head.", block("CERTIFICATE", "a"), plain("a")},
		"Long":   {"The status takes no more.", plain(strings.Repeat("a", authorityLimit)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := certificates([]byte(tc.in)); got != tc.want {
				t.Errorf("%s\ngot:\n%s", tc.reason, got)
			}
		})
	}
}
