//go:build platform

package platform_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// TestTenant: who may edit a namespace may claim in it, and nothing else: not elsewhere, not what a claim becomes, and not the fields
// by which a claim says how it is composed.
func TestTenant(t *testing.T) {
	t.Parallel()
	if err := cloud.Apply(t.Context(), []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: tenant-rights}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: tenant-rights, name: tenant}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`)); err != nil {
		t.Fatal(err)
	}
	alice, err := cloud.As("alice")
	if err != nil {
		t.Fatal(err)
	}
	create := func(u *unstructured.Unstructured) error { return alice.Create(t.Context(), u, client.DryRunAll) }
	refused := map[string]struct {
		reason string
		edit   edit
		want   string
	}{
		"CompositionRevision": {
			reason: "A revision of another Composition would be composed by another function.",
			edit:   set("x", "spec", "compositionRevisionRef", "name"),
			want:   "spec.compositionRevisionRef belongs to the platform",
		},
		"UpdatePolicy": {
			reason: "A claim that updates by hand stays on an old revision.",
			edit:   set("Manual", "spec", "compositionUpdatePolicy"),
			want:   "spec.compositionUpdatePolicy belongs to the platform",
		},
		"DeletePolicy": {
			reason: "In the background everything goes in the wrong order.",
			edit:   set("Background", "spec", "compositeDeletePolicy"),
			want:   "spec.compositeDeletePolicy has to be Foreground",
		},
		"Pause": {
			reason: "A paused claim is not reconciled.",
			edit:   set("true", "metadata", "annotations", "crossplane.io/paused"),
			want:   "metadata.annotations of crossplane.io belong to the platform",
		},
	}
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			err := create(claim(t, "tenant-rights", tc.edit))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nCreate(...): %v, want: %s", tc.reason, err, tc.want)
			}
		})
	}
	// The rights come by aggregation, a moment after they are given.
	eventually(t, soon, func() error { return create(claim(t, "tenant-rights")) })
	if err := create(claim(t, "tenant-elsewhere")); !apierrors.IsForbidden(err) {
		t.Errorf("a claim in another namespace: %v, want it forbidden", err)
	}

	u := claim(t, "tenant-rights")
	order(t, u)
	is := ready(t, u)
	if err := alice.Get(t.Context(), client.ObjectKeyFromObject(u), u.DeepCopy()); err != nil {
		t.Errorf("she may not see her claim: %v", err)
	}
	composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
	for _, o := range []*unstructured.Unstructured{
		get(t, cloud.Cluster, compositeKind, "", composite),
		get(t, cloud.Cluster, keystoneKind, instance(t, is), "keystone"),
		get(t, cloud.Cluster, secretKind, instance(t, is), "keystone-admin"),
	} {
		if err := alice.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopy()); !apierrors.IsForbidden(err) {
			t.Errorf("reading %s: %v, want it forbidden", o.GetKind(), err)
		}
	}
	// Not even an administrator deletes by hand what a claim will only make again.
	for _, o := range []*unstructured.Unstructured{
		get(t, cloud.Cluster, compositeKind, "", composite),
		get(t, cloud.Cluster, keystoneKind, instance(t, is), "keystone"),
	} {
		if err := cloud.Client.Delete(t.Context(), o); err == nil || !strings.Contains(err.Error(), "delete the claim instead") {
			t.Errorf("deleting %s: %v, want it refused", o.GetKind(), err)
		}
	}
	if c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, "tenant-rights", "cloud"), "Ready"); c.Status != "True" {
		t.Errorf("the claim is not ready any more: %+v", c)
	}
}
