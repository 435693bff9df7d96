package main

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// TestMembers checks the resources of an object, directly and in an Object, with the requests of all its containers.
func TestMembers(t *testing.T) {
	container := func(cpu, memory string) map[string]any {
		return map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": cpu, "memory": memory}}}
	}
	deployment := map[string]any{"spec": map[string]any{"replicas": 2.0, "template": map[string]any{"spec": map[string]any{
		"containers": []any{container("250m", "512Mi"), container("50m", "64Mi"), map[string]any{"name": "without"}},
	}}}}
	database := map[string]any{"spec": map[string]any{
		"replicas": 3.0, "resources": map[string]any{"requests": map[string]any{"cpu": "2", "memory": "8Gi"}}, "storage": map[string]any{"size": "100Gi"},
	}}
	cases := map[string]struct {
		reason, kind string
		wrapped      bool
		manifest     map[string]any
		want         string
	}{
		"Containers": {reason: "Requests of containers add up.", kind: "Deployment", manifest: deployment, want: "2 × 300m, 576Mi"},
		"Volume":     {reason: "A kind with volumes.", kind: "MariaDB", manifest: database, want: "3 × 2, 8Gi, 100Gi"},
		"Wrapped": {
			reason: "An object in an Object is counted.", kind: "MariaDB", wrapped: true,
			manifest: map[string]any{"spec": map[string]any{"forProvider": map[string]any{"manifest": database}}}, want: "3 × 2, 8Gi, 100Gi",
		},
		"Templates": {
			reason: "A StatefulSet has templates of volumes.", kind: "StatefulSet",
			manifest: map[string]any{"spec": map[string]any{"replicas": 1.0, "template": deployment["spec"].(map[string]any)["template"], "volumeClaimTemplates": []any{
				map[string]any{"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "2Gi"}}}},
			}}},
			want: "1 × 300m, 576Mi, 2Gi",
		},
		"NoRequest": {
			reason: "The number of replicas is in the manifest.", kind: "MaxScale", manifest: map[string]any{"spec": map[string]any{"replicas": 2.0}}, want: "2 × no request",
		},
		"None": {reason: "There are no members.", kind: "MaxScale", manifest: map[string]any{"spec": map[string]any{"replicas": 0.0}}, want: "–"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := structpb.NewStruct(tc.manifest)
			if err != nil {
				t.Fatal(err)
			}
			got, err := membersOf(preview.Object{Kind: tc.kind, Wrapped: tc.wrapped, Manifest: s})
			if err != nil || got.String() != tc.want {
				t.Errorf("%s\nmembersOf(...): %q, %v; want %q", tc.reason, got.String(), err, tc.want)
			}
		})
	}
}
