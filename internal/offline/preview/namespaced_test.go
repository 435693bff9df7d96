package preview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// TestNamespacedFormHasPreviewOfClaim tests that the namespaced form of a claim has the objects of the claim, also as it is in a cluster, and
// that its errors name its own fields.
func TestNamespacedFormHasPreviewOfClaim(t *testing.T) {
	want, err := Run([]byte(claim), []byte(platform), toy(nil))
	if err != nil {
		t.Fatal(err)
	}
	form := strings.Replace(claim, "crossplane.c5c3.io", "m.crossplane.c5c3.io", 1)
	for name, tc := range map[string]struct{ reason, text string }{
		"File":    {"A user writes no field of Crossplane.", form},
		"Cluster": {"Crossplane adds a field in a cluster.", strings.Replace(form, "spec: {", "spec: {crossplane: {compositionUpdatePolicy: Automatic}, ", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Run([]byte(tc.text), []byte(platform), toy(nil))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if len(got.Objects) == 0 || len(got.Objects) != len(want.Objects) {
				t.Fatalf("%s: %d objects, want %d", tc.reason, len(got.Objects), len(want.Objects))
			}
			for i := range want.Objects {
				if diff := cmp.Diff(want.Objects[i].Manifest, got.Objects[i].Manifest, protocmp.Transform()); diff != "" {
					t.Errorf("%s: -claim, +namespaced form:\n%s", tc.reason, diff)
				}
			}
			if diff := cmp.Diff(want.Existing, got.Existing, protocmp.Transform()); diff != "" {
				t.Errorf("%s: for claims that refer to it: -claim, +namespaced form:\n%s", tc.reason, diff)
			}
		})
	}
	_, err = Run([]byte(strings.Replace(form, "openStackRelease", "release", 1)), []byte(platform), toy(nil))
	if err == nil || !strings.Contains(err.Error(), "spec.release") {
		t.Errorf("with an unknown field: %v", err)
	}
}
