//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// TestUndesiredFieldsAreRemoved checks that a field that is no longer desired is removed from an object in which Rook owns the empty
// field; an API server rejects an edit that only omits it.
func TestUndesiredFieldsAreRemoved(t *testing.T) {
	t.Parallel()
	const namespace = "taken-out"
	namespaceFor(t, namespace)
	meta := object.Meta{Namespace: namespace, Name: "it"}
	pool := func(m *rook.Mirroring) *unstructured.Unstructured {
		return rook.Pool(meta, "it", "", rook.Redundancy{Copies: 3, FailureDomain: "host"}, rook.Quota{}, m)
	}
	store := func(k *rook.Keystone, removed bool) *unstructured.Unstructured {
		r := rook.Redundancy{Copies: 3, FailureDomain: "host"}
		return rook.ObjectStore(meta, rook.Store{Metadata: r, Data: r, Gateways: 1, Certificate: "tls", Keystone: k, KeystoneRemoved: removed})
	}
	for name, tc := range map[string]struct {
		before, with, without *unstructured.Unstructured
		writes                []string
		field                 []string
	}{
		"mirroring": {pool(nil), pool(&rook.Mirroring{Mode: "image"}), pool(&rook.Mirroring{}), []string{"mirroring"}, []string{"spec", "mirroring", "mode"}},
		"keystone": {
			store(nil, false), store(&rook.Keystone{URL: "https://keystone:5000", Secret: "login", Roles: []string{"member"}, Swift: true, S3: true}, true),
			store(nil, true), []string{"auth", "protocols"}, []string{"spec", "auth", "keystone", "url"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind := tc.before.GroupVersionKind()
			written := func(manifest *unstructured.Unstructured, has bool) {
				t.Helper()
				o := object.New(objectKind.GroupVersion().String(), objectKind.Kind, object.Meta{Name: namespace + "-" + name}, map[string]any{
					"providerConfigRef": map[string]any{"name": "in-cluster"}, "forProvider": map[string]any{"manifest": manifest.Object},
				})
				if err := cloud.Client.Patch(t.Context(), o, client.Apply, client.ForceOwnership, client.FieldOwner("composite")); err != nil { //nolint:staticcheck // as Crossplane
					t.Fatal(err)
				}
				eventually(t, timeout, func() error {
					live, err := cloud.Get(t.Context(), kind, client.ObjectKeyFromObject(manifest))
					if err != nil || live == nil {
						return errors.Join(errors.New("it is not there"), err)
					}
					outer, err := cloud.Get(t.Context(), objectKind, client.ObjectKeyFromObject(o))
					if err != nil {
						return err
					}
					condition, _ := platform.ConditionOf(outer, "Synced")
					if _, found, _ := unstructured.NestedString(live.Object, tc.field...); found != has || condition.Status != "True" {
						return fmt.Errorf("it has %v: %t, want %t; the provider reports %s %s", tc.field, found, has, condition.Status, condition.Message)
					}
					return nil
				})
			}
			written(tc.before, false)
			live := get(t, cloud.Cluster, kind, namespace, "it")
			for _, field := range tc.writes {
				if err := unstructured.SetNestedMap(live.Object, map[string]any{}, "spec", field); err != nil {
					t.Fatal(err)
				}
			}
			if err := cloud.Client.Update(t.Context(), live, client.FieldOwner("rook")); err != nil {
				t.Fatal(err)
			}
			written(tc.with, true)
			written(tc.without, false)
			written(tc.with, true)
		})
	}
}
