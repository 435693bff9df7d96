package compose_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestDataPolicy tests the effect of deletion on observed objects by Crossplane and its provider, and that the worst policy wins.
func TestDataPolicy(t *testing.T) {
	around := func(policies ...any) map[string]any {
		o := wrapped(applied(t, object("ConfigMap", "data")))
		o["spec"].(map[string]any)["managementPolicies"] = policies
		return o
	}
	keep := around("Observe", "Create", "Update", "LateInitialize")
	nested := func(spec, status map[string]any) map[string]any {
		o := map[string]any{
			"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "metadata": map[string]any{"name": "keystone"}, "spec": spec,
		}
		if status != nil {
			o["status"] = status
		}
		return o
	}
	retains := nested(map[string]any{"deletionPolicy": "Retain"}, map[string]any{"observedGeneration": int64(1), "deletionPolicy": "Retain"})
	cases := map[string]struct {
		reason   string
		observed map[string]map[string]any
		want     compose.DataPolicy
	}{
		"Nothing": {
			reason: "There is no data.",
		},
		"Kept": {
			reason:   "No Object may delete its inner object, and the nested composite resource retains its data.",
			observed: map[string]map[string]any{"data": keep, "more": keep, "keystone": retains},
		},
		"One": {
			reason:   "One that may is enough.",
			observed: map[string]map[string]any{"data": keep, "more": around("Observe", "Delete"), "keystone": retains},
			want:     compose.Deleted,
		},
		"All": {
			reason:   "All that can be done to it may be done.",
			observed: map[string]map[string]any{"data": around("*")},
			want:     compose.Deleted,
		},
		"NoPolicies": {
			reason:   "The provider's default is to do everything.",
			observed: map[string]map[string]any{"data": around()},
			want:     compose.Deleted,
		},
		"Direct": {
			reason:   "Crossplane deletes objects without a wrapper.",
			observed: map[string]map[string]any{"data": applied(t, object("ConfigMap", "data"))},
			want:     compose.Deleted,
		},
		"NoData": {
			reason:   "An object without data can be re-created.",
			observed: map[string]map[string]any{"config": around("*")},
		},
		"NestedDeletes": {
			reason: "Its spec retains data, but its status does not yet.",
			observed: map[string]map[string]any{
				"data": keep, "keystone": nested(map[string]any{"deletionPolicy": "Retain"}, map[string]any{"observedGeneration": int64(1), "deletionPolicy": "Delete"}),
			},
			want: compose.Deleted,
		},
		"NestedTold": {
			reason: "Its spec may take effect at any moment.",
			observed: map[string]map[string]any{
				"data": keep, "keystone": nested(map[string]any{"deletionPolicy": "Delete"}, map[string]any{"observedGeneration": int64(1), "deletionPolicy": "Retain"}),
			},
			want: compose.Deleted,
		},
		"NestedSilent": {
			reason:   "A function of an older version does not report the policy.",
			observed: map[string]map[string]any{"data": keep, "keystone": nested(map[string]any{}, map[string]any{"observedGeneration": int64(1)})},
			want:     compose.Unknown,
		},
		"NestedNew": {
			reason:   "Its function never ran, so nothing is composed.",
			observed: map[string]map[string]any{"data": keep, "keystone": nested(map[string]any{"deletionPolicy": "Retain"}, nil)},
		},
	}
	g := one(compose.Stage{
		{Name: "data", Object: object("ConfigMap", "data"), Retain: true},
		{Name: "more", Object: object("ConfigMap", "more"), Retain: true},
		{Name: "config", Object: object("ConfigMap", "config")},
		{Name: "keystone", Object: &unstructured.Unstructured{Object: nested(map[string]any{}, nil)}},
	})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			for name, o := range tc.observed {
				s, err := structpb.NewStruct(o)
				if err != nil {
					t.Fatal(err)
				}
				observed[name] = s
			}
			plan, err := g.Compute(struct{}{}, newState(t, observed, true), readiness.Rules, compose.Item.Reference)
			if err != nil {
				t.Fatalf("Compute(...): %v", err)
			}
			if got := plan.DataPolicy(); got != tc.want {
				t.Errorf("%s\nDataPolicy() = %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
