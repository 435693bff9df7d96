package livecloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/dump"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// cloud has two tenants that share a StorageCluster.
const cloud = `
- {kind: PlatformConfig, metadata: {name: default}, spec: {}}
- {kind: StorageCluster, metadata: {namespace: shared, name: ceph}, spec: {}}
- {kind: StorageCluster, metadata: {namespace: shared, name: other}, spec: {}}
- {kind: ControlPlaneCluster, metadata: {namespace: a, name: cloud}, spec: {services: {glance: {storage: {pool: {clusterRef: {namespace: shared, name: ceph}}}}}}}
- {kind: HypervisorCluster, metadata: {namespace: a, name: pool}, spec: {controlPlaneRef: {name: cloud}}}
- {kind: KeystoneService, metadata: {namespace: c, name: service}, spec: {controlPlaneRef: {namespace: a, name: cloud}}}
- {kind: ControlPlaneCluster, metadata: {namespace: b, name: cloud}, spec: {services: {glance: {storage: {pool: {clusterRef: {namespace: shared, name: ceph}}}}}}}
`

func objects(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var out []map[string]any
	if err := yaml.Unmarshal([]byte(cloud), &out); err != nil {
		t.Fatal(err)
	}
	var list []unstructured.Unstructured
	for _, o := range out {
		o["apiVersion"] = "crossplane.c5c3.io/v1alpha1"
		list = append(list, unstructured.Unstructured{Object: o})
	}
	return list
}

// TestReadRelatedClaims checks which claims belong to the plan of an edit.
func TestReadRelatedClaims(t *testing.T) {
	all := []string{
		"ControlPlaneCluster a/cloud", "ControlPlaneCluster b/cloud", "HypervisorCluster a/pool", "KeystoneService c/service", "StorageCluster shared/ceph",
	}
	cases := map[string]struct {
		reason, namespace string
		edited            []string
		want              []string
	}{
		"ControlPlane": {"its pools and services depend on it, and it refers to its storage", "", []string{"ControlPlaneCluster a/cloud"}, slices.Concat(all[:1], all[2:])},
		"Storage":      {"all claims depend on it", "", []string{"StorageCluster shared/ceph"}, all},
		"Pool":         {"it refers to its control plane", "", []string{"HypervisorCluster a/pool"}, []string{all[0], all[2], all[4]}},
		"NewClaim":     {"it does not exist", "", []string{"StorageCluster shared/new"}, nil},
		"Everything":   {"without an edit, all claims are read", "", nil, append(slices.Clone(all), "StorageCluster shared/other")},
		"Namespace":    {"claims of other namespaces are read by reference only", "a", []string{"ControlPlaneCluster a/cloud"}, []string{all[0], all[2], all[4]}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var edited []plan.Document
			for _, e := range tc.edited {
				kind, key, _ := strings.Cut(e, " ")
				namespace, name, _ := strings.Cut(key, "/")
				edited = append(edited, plan.Document{Identity: preview.Identity{Kind: kind, Namespace: namespace, Name: name}})
			}
			c, err := Read(t.Context(), dump.New(time.Time{}, objects(t)...), Options{Namespace: tc.namespace, Edited: edited})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range c.Claims {
				got = append(got, fmt.Sprintf("%s %s/%s", d.Kind, d.Namespace, d.Name))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadLegacyInstance checks that a control plane keeps the name of an earlier version, and another status has no effect.
func TestReadLegacyInstance(t *testing.T) {
	legacy := names.LegacyInstance("a", "cloud")
	for instance, want := range map[string]string{legacy: legacy, names.Instance("a", "cloud"): "", "of-another-claim": ""} {
		list := objects(t)
		list[3].Object["status"] = map[string]any{"instance": instance}
		c, err := Read(t.Context(), dump.New(time.Time{}, list...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Claims[0].Instance; got != want {
			t.Errorf("status.instance %s: instance %q, want %q", instance, got, want)
		}
	}
}

// TestTooManyClaims checks that a list which is not complete is an error: claims that depend on the edited one could be missing.
func TestTooManyClaims(t *testing.T) {
	list := objects(t)
	for i := range doctor.MaxItems {
		o := list[1].DeepCopy()
		o.SetName(fmt.Sprint("ceph-", i))
		list = append(list, *o)
	}
	_, err := Read(t.Context(), dump.New(time.Time{}, list...), Options{})
	if err == nil || !strings.Contains(err.Error(), "more of the kind StorageCluster; set -n") {
		t.Errorf("got %v", err)
	}
}

// TestSecretsAreNotRead checks that a request for a Secret never reaches the cluster.
func TestSecretsAreNotRead(t *testing.T) {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	r := newReader(nil)
	if _, err := r.get(context.Background(), secret, "a", "b"); !errors.Is(err, errSecret) {
		t.Errorf("get: %v", err)
	}
	if _, err := r.list(context.Background(), secret, "a"); !errors.Is(err, errSecret) {
		t.Errorf("list: %v", err)
	}
}

// TestManyMissingRights checks that the message about missing rights has one line and a limited length.
func TestManyMissingRights(t *testing.T) {
	r := newReader(nil)
	for i := range 2 * maxRights {
		kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprintf("Kind%02d", i)}
		for range 2 {
			r.fail(&requestError{"list", "a", kind, apierrors.NewForbidden(schema.GroupResource{}, "", nil)})
		}
	}
	message := r.err().Error()
	if !strings.Contains(message, ", and 8 others; bind") || strings.Count(message, "list ") != maxRights || strings.Contains(message, "\n") {
		t.Errorf("got %s", message)
	}
}

// TestComposedClaimsBelongToOpenStackCluster checks that the claims which an OpenStackCluster composes belong to it: they have no document,
// and drift reads them.
func TestComposedClaimsBelongToOpenStackCluster(t *testing.T) {
	const owned = "metadata: {namespace: a, labels: {crossplane.io/claim-name: cloud}, ownerReferences: [{kind: XOpenStackCluster, name: x, controller: true}], name: "
	var list []unstructured.Unstructured
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(`
- {kind: PlatformConfig, metadata: {name: default}, spec: {}}
- {kind: StorageCluster, metadata: {namespace: shared, name: ceph}, spec: {}}
- {kind: OpenStackCluster, metadata: {namespace: a, name: cloud}, spec: {storage: {ref: {namespace: shared, name: ceph}}, hypervisorPools: [{ref: {name: pool}}]}}
- {kind: ControlPlaneCluster, spec: {}, `+owned+`cloud}}
- {kind: HypervisorCluster, metadata: {namespace: a, name: pool}, spec: {}}
- {kind: KeystoneService, metadata: {namespace: c, name: service}, spec: {controlPlaneRef: {namespace: a, name: cloud}}}
`), &all); err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		o["apiVersion"] = "crossplane.c5c3.io/v1alpha1"
		list = append(list, unstructured.Unstructured{Object: o})
	}
	const whole = "HypervisorCluster a/pool, KeystoneService c/service, OpenStackCluster a/cloud, StorageCluster shared/ceph; drift of ControlPlaneCluster a/cloud"
	for name, tc := range map[string]struct {
		reason string
		edited preview.Identity
		want   string
	}{
		"Cloud":   {"it refers to its parts, and services depend on its control plane", preview.Identity{Kind: "OpenStackCluster", Namespace: "a", Name: "cloud"}, whole},
		"Storage": {"the cloud depends on it", preview.Identity{Kind: "StorageCluster", Namespace: "shared", Name: "ceph"}, whole},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Read(t.Context(), dump.New(time.Time{}, list...), Options{Edited: []plan.Document{{Identity: tc.edited}}})
			if err != nil {
				t.Fatal(err)
			}
			var documents, composed []string
			for _, d := range c.Claims {
				documents = append(documents, d.Kind+" "+d.Namespace+"/"+d.Name)
			}
			for _, claim := range c.claims {
				if cloudOf(claim) != "" {
					composed = append(composed, claim.GetKind()+" "+claim.GetNamespace()+"/"+claim.GetName())
				}
			}
			slices.Sort(documents)
			if got := strings.Join(documents, ", ") + "; drift of " + strings.Join(composed, ", "); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
