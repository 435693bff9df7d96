package identitycheck

import (
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// TestCertificates: the status contains only the certificates of the authority, without other content of the Secret's key.
func TestCertificates(t *testing.T) {
	block := func(kind, body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(body), Headers: map[string]string{"Note": "secret"}}))
	}
	certificateBlock := func(body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(body)}))
	}
	for name, tc := range map[string]struct{ reason, in, want string }{
		"None": {"The authorities of the system.", "", ""},
		"Two": {"An authority that is being renewed has two.", certificateBlock("a") + certificateBlock("b"), certificateBlock("a") +
			certificateBlock("b")},
		"Key": {"Keys are not reported.", block("RSA PRIVATE KEY", "k") + certificateBlock("a") + block("PRIVATE KEY", "k"),
			certificateBlock("a")},
		"Words":  {"Nor is other text.", "password: secret\n" + certificateBlock("a") + "more", certificateBlock("a")},
		"Header": {"Nor are the headers of a block.", block("CERTIFICATE", "a"), certificateBlock("a")},
		"Long":   {"The status has a limit.", certificateBlock(strings.Repeat("a", authorityLimit)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := certificates([]byte(tc.in)); got != tc.want {
				t.Errorf("%s\ngot:\n%s", tc.reason, got)
			}
		})
	}
}

// TestLimitsLengthOfCertificates: the maximum length equals the limit of the CRD.
func TestLimitsLengthOfCertificates(t *testing.T) {
	one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a")})
	body := 48000
	for len(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, body)})) <= 65536 {
		body++
	}
	// One more body byte is at most one more byte of text: the longest valid text, and the shortest invalid one.
	longestValid := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, body-1)}))
	if got := certificates([]byte(longestValid)); got != longestValid {
		t.Errorf("%d bytes are not reported", len(longestValid))
	}
	if got := certificates([]byte(longestValid + string(one))); got != "" {
		t.Errorf("%d bytes are reported", len(got))
	}
}

// TestBucketsCoverDurationOfLogins: a login takes between a tenth of a second and half a minute.
func TestBucketsCoverDurationOfLogins(t *testing.T) {
	duration.WithLabelValues("buckets", "buckets").Observe(1)
	registry := prometheus.NewPedanticRegistry()
	if err := metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && m.GetLabel()[0].GetValue() == "buckets" {
				for _, b := range h.GetBucket() {
					got = append(got, b.GetUpperBound())
				}
			}
		}
	}
	if want := []float64{.1, .25, .5, 1, 2.5, 5, 10, 30}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	duration.DeleteLabelValues("buckets", "buckets")
}

// TestReportsAuthorityAfterLogin: the authority is reported after each login.
func TestReportsAuthorityAfterLogin(t *testing.T) {
	one := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a")}))
	w := &observation{check: &openstackv1.IdentityCheck{}, now: start.Add(time.Millisecond), cloud: identity.Cloud{CA: []byte(one)},
		version: "v3.14"}
	w.report()
	if s := w.check.Status; s.Authority != one || !s.LastToken.Time.Equal(start) || s.APIVersion != "v3.14" {
		t.Errorf("%+v", s)
	}
}
