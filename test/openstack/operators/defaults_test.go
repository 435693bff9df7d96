//go:build linux

package operators

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWithDefaults checks that objects have the defaults that the API server sets.
func TestWithDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		in, want map[string]any
	}{
		"Rotation": {
			reason: "Without an interval, every credential would be due at once.",
			in:     map[string]any{"apiVersion": "c5c3.io/v1alpha1", "kind": "CredentialRotation", "spec": map[string]any{"secretName": "a"}},
			want: map[string]any{"apiVersion": "c5c3.io/v1alpha1", "kind": "CredentialRotation", "spec": map[string]any{
				"secretName": "a", "intervalDays": int64(90), "preRotationDays": int64(7), "gracePeriodDays": int64(1),
			}},
		},
		"Kind of Kubernetes": {
			reason: "Its defaults are set elsewhere.",
			in:     map[string]any{"apiVersion": "v1", "kind": "ConfigMap"},
			want:   map[string]any{"apiVersion": "v1", "kind": "ConfigMap"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withDefaults(&unstructured.Unstructured{Object: tc.in})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
