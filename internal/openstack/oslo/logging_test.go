package oslo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// TestLogging checks that the text format needs no options, because it is the default of oslo.log.
func TestLogging(t *testing.T) {
	service := oslo.Config{"DEFAULT": {"debug": true}, "token": {"provider": "fernet"}}
	text, err := service.Render()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		json   bool
		want   string
	}{
		"text": {"A file stays as it was.", false, text},
		"JSON": {"Levels are set as before.", true, "[DEFAULT]\ndebug = true\nuse_json = true\n\n[token]\nprovider = fernet\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := service.Merge(oslo.Logging(tc.json)).Render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
