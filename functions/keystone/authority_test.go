package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAuthority verifies that a Gateway's policy references the ConfigMap only once it exists, and that a published authority is retained.
func TestAuthority(t *testing.T) {
	reported := map[string]any{"status": map[string]any{"authority": "new"}}
	published := map[string]any{"kind": "ConfigMap", "data": map[string]any{"ca.crt": "old"}}
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]map[string]any
		want     authority
		kind     string
	}{
		"Nothing":   {"It is not reported yet.", nil, authority{}, "Secret"},
		"Told":      {"It is to be published.", map[string]map[string]any{loginResource: reported}, authority{"new", true, false}, "Secret"},
		"Published": {"It exists.", map[string]map[string]any{loginResource: reported, authorityResource: published}, authority{"new", true, true}, "ConfigMap"},
		"Forgotten": {"It stays.", map[string]map[string]any{authorityResource: published}, authority{"old", true, true}, "ConfigMap"},
		"Unseen": {
			"A cluster that does not answer has it nevertheless.", map[string]map[string]any{authorityResource: {
				"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
				"spec": map[string]any{"forProvider": map[string]any{"manifest": published}},
			}}, authority{"old", true, true}, "ConfigMap",
		},
		"Emptied": {
			"An existing ConfigMap is retained.", map[string]map[string]any{authorityResource: {"kind": "ConfigMap"}}, authority{"", true, false}, "Secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			for n, o := range tc.observed {
				s, err := structpb.NewStruct(o)
				if err != nil {
					t.Fatal(err)
				}
				observed[n] = s
			}
			m, err := derive(input(t, xr(t, "small", set(map[string]any{
				"type": "GatewayAPI", "hostname": "a.example.com", "gateway": map[string]any{"name": "public", "namespace": "gateways"},
			}, "exposure")), observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.authority, cmp.AllowUnexported(authority{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			stages, err := exposed().Build(m)
			if err != nil {
				t.Fatal(err)
			}
			kind, maps, refers, called := "", 0, "", ""
			for _, r := range stages[0] {
				switch r.Name {
				case authorityResource:
					maps++
					called = r.Object.(*corev1.ConfigMap).Name
				case "route-tls":
					u := r.Object.(*unstructured.Unstructured)
					refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "validation", "caCertificateRefs")
					kind, _ = at(refs, 0, "kind").(string)
					refers, _ = at(refs, 0, "name").(string)
				}
			}
			if kind == "ConfigMap" && refers != called {
				t.Errorf("%s\nthe policy names ConfigMap %s, and there is %s", tc.reason, refers, called)
			}
			if kind != tc.kind || maps > 0 != tc.want.required {
				t.Errorf("%s\nthe policy names a %s, and there are %d ConfigMaps", tc.reason, kind, maps)
			}
		})
	}
}
