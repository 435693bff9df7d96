package service

import (
	"strings"
	"testing"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestInternalURLIsParsed checks that a URL is rejected if the host of the certificate cannot be read from it.
func TestInternalURLIsParsed(t *testing.T) {
	for address, want := range map[common.URL]string{
		"https://nova.cloud.svc:8774/v2.1": "",
		"https://[fd00::1]:8774":           "",
		"https://[fd00::1":                 "spec.endpoints.internal: https://[fd00::1 is not a valid URL",
	} {
		s := &common.ServiceSpec{}
		s.Endpoints.Internal = address
		got := ""
		if err := (Spec{ServiceSpec: s}).checkInternalURL("spec"); err != nil {
			got = err.Error()
		}
		if got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
