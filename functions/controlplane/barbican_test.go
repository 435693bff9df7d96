package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestBarbicanProcessesDefaultToSize checks that unset fields of a process come from the size. By default a worker has two pods at most, as
// other singleton workers have.
func TestBarbicanProcessesDefaultToSize(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML string
		want              []string
	}{
		"size":  {"The claim sets all fields.", "", []string{"2 × 250m, 512Mi", "2 × 250m, 512Mi"}},
		"claim": {"All of it.", ", api: {replicas: 4}, worker: {replicas: 1, memory: 2Gi}", []string{"4 × 250m, 512Mi", "1 × 250m, 2Gi"}},
	} {
		m, err := derive(input(t, "{services: {barbican: {enabled: true"+tc.extraYAML+"}}}", queued, nil))
		if err != nil {
			t.Fatal(err)
		}
		spec := xrOf[*barbicanv1.Barbican](t, m, barbicanv1.ServiceName).Spec
		if diff := cmp.Diff(tc.want, []string{summary(&spec.API), summary(&spec.Worker)}); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestKeyManagerSetWhileBarbicanEnabled checks that services with encryption get the address of Barbican while the claim enables it.
func TestKeyManagerSetWhileBarbicanEnabled(t *testing.T) {
	for _, tc := range []struct {
		reason, extraYAML string
		want              *common.KeyManager
	}{
		{"Barbican is enabled.", "}, barbican: {enabled: true", &common.KeyManager{InternalURL: common.URL("https://barbican." + instance + ".svc:9311")}},
		{"Barbican is not enabled.", "}, barbican: {enabled: false", nil},
		{"Barbican is disabled.", "", nil},
	} {
		m, err := derive(input(t, blocks(tc.extraYAML, ""), queued, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, xrOf[*cinderv1.Cinder](t, m, cinderv1.ServiceName).Spec.KeyManager); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
