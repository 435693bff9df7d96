package livecloud

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/dump"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

const clustered = `
- {kind: PlatformConfig, metadata: {name: default}, spec: {clusters: [{name: east, providerConfig: old, allowedNamespaces: [a]}]}}
- {kind: WorkloadCluster, metadata: {name: east}, spec: {allowedNamespaces: [b]}}
- {kind: WorkloadCluster, metadata: {name: west}, spec: {allowedNamespaces: [a], ipFamily: IPv6, roles: [storage]}}
- {kind: WorkloadCluster, metadata: {name: south}, spec: {allowedNamespaces: [a]}}
- {kind: WorkloadCluster, metadata: {name: closed}, spec: {roles: [storage]}}
- {kind: StorageCluster, metadata: {namespace: a, name: ceph}, spec: {cluster: {ref: {name: west}}}}
- {kind: StorageCluster, metadata: {namespace: a, name: other}, spec: {cluster: {ref: {name: east}}}}
- {kind: StorageCluster, metadata: {namespace: a, name: gone}, spec: {cluster: {ref: {name: gone}}}}
- {kind: StorageCluster, metadata: {namespace: a, name: closed}, spec: {cluster: {ref: {name: closed}}}}
`

// TestReadClusters checks that a plan knows the WorkloadClusters that claims select, and that entries of the PlatformConfig take precedence.
func TestReadClusters(t *testing.T) {
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(clustered), &all); err != nil {
		t.Fatal(err)
	}
	var objects []unstructured.Unstructured
	for _, o := range all {
		o["apiVersion"] = "crossplane.c5c3.io/v1alpha1"
		objects = append(objects, unstructured.Unstructured{Object: o})
	}
	east := map[string]any{"name": "east", "providerConfig": "old", "allowedNamespaces": []any{"a"}}
	west := map[string]any{"name": "west", "providerConfig": "west", "allowedNamespaces": []any{"a"}, "ipFamily": "IPv6"}
	south := map[string]any{"name": "south", "providerConfig": "south", "allowedNamespaces": []any{"a"}}
	cloud := []plan.Document{{
		Identity: preview.Identity{Kind: "OpenStackCluster", Namespace: "a", Name: "cloud"},
		Data:     []byte("{kind: OpenStackCluster, spec: {hypervisorPools: [{spec: {cluster: {ref: {name: south}}}}], storage: {ref: {name: ceph}}}}"),
	}}
	for name, tc := range map[string]struct {
		reason string
		edited []plan.Document
		want   []any
	}{
		"all":  {"Only clusters of claims are read.", nil, []any{east, west}},
		"edit": {"A new claim, inside a cloud, selects another one.", cloud, []any{east, south}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Read(t.Context(), dump.New(time.Time{}, objects...), Options{Edited: tc.edited})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Spec struct{ Clusters []any } }
			if err := yaml.Unmarshal(c.Platform.Data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Spec.Clusters); diff != "" {
				t.Errorf("%s clusters (-want +got):\n%s", tc.reason, diff)
			}
			given, err := c.WithClusters([]byte("{kind: PlatformConfig, spec: {domain: example.com}}"))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(given, &got); err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(tc.want), func(e any) bool { return cmp.Equal(e, any(east)) })
			if diff := cmp.Diff(want, got.Spec.Clusters); diff != "" {
				t.Errorf("%s clusters of another PlatformConfig (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	for _, text := range []string{"a: [", "{spec: {clusters: [{name: west}]}}"} {
		c := &Cloud{}
		if got, err := c.WithClusters([]byte(text)); err != nil || string(got) != text {
			t.Errorf("without clusters, %s becomes %s, %v", text, got, err)
		}
	}
}
