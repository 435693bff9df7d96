package livecloud

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
)

// readClusters reads the WorkloadClusters that claims select. A plan uses them like clusters of the PlatformConfig, as functions do. It
// does not check the requirements of new claims.
func (c *Cloud) readClusters(ctx context.Context, all []*unstructured.Unstructured, edited []plan.Document) error {
	names := map[string]bool{}
	for _, claim := range all {
		addClusterNames(claim.Object["spec"], names)
	}
	for _, d := range edited {
		var claim struct{ Spec any }
		if yaml.Unmarshal(d.Data, &claim) == nil { // An unreadable document is an error of the plan.
			addClusterNames(claim.Spec, names)
		}
	}
	listed := clusterNames(c.platform)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if listed[name] {
			continue
		}
		o, err := c.reader.get(ctx, workloadclusterv1.GroupVersionKind, "", name)
		switch {
		case isMissing(err): // The plan has the error about the cluster.
		case apierrors.IsForbidden(err):
			c.note("missing right: get workloadclusters.crossplane.c5c3.io; the plan does not know cluster " + name)
		case err != nil:
			c.reader.fail(err)
			return c.reader.err()
		default:
			if entry := clusterEntry(o); entry["allowedNamespaces"] != nil { // Without namespaces, no claim may use it.
				c.clusters = append(c.clusters, entry)
			}
		}
	}
	if c.platform == nil || len(c.clusters) == 0 {
		return nil
	}
	var err error
	c.platform = c.withClusters(c.platform)
	c.Platform.Data, err = document(&unstructured.Unstructured{Object: c.platform}, nil)
	return err
}

// clusterEntry returns the entry of a PlatformConfig that has the effect of a WorkloadCluster.
func clusterEntry(o *unstructured.Unstructured) map[string]any {
	entry := map[string]any{"name": o.GetName(), "providerConfig": o.GetName()}
	for _, field := range []string{"allowedNamespaces", "ipFamily"} {
		if v, ok, err := unstructured.NestedFieldNoCopy(o.Object, "spec", field); ok && err == nil {
			entry[field] = v
		}
	}
	return entry
}

// WithClusters returns a PlatformConfig (YAML) with the WorkloadClusters that claims select. Without any, it is unchanged.
func (c *Cloud) WithClusters(platform []byte) ([]byte, error) {
	config := map[string]any{}
	if len(c.clusters) == 0 {
		return platform, nil
	}
	if yaml.Unmarshal(platform, &config) != nil {
		return platform, nil //nolint:nilerr // an unreadable PlatformConfig is an error of the plan
	}
	data, err := json.Marshal(c.withClusters(config))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the PlatformConfig: %w", err)
	}
	return data, nil
}

// withClusters returns a copy of a PlatformConfig with the WorkloadClusters that it does not list.
func (c *Cloud) withClusters(platform map[string]any) map[string]any {
	listed := clusterNames(platform)
	spec, _ := platform["spec"].(map[string]any)
	spec = maps.Clone(spec)
	if spec == nil {
		spec = map[string]any{}
	}
	entries, _ := spec["clusters"].([]any)
	entries = slices.Clone(entries)
	for _, entry := range c.clusters {
		if name, _ := entry["name"].(string); !listed[name] {
			entries = append(entries, entry)
		}
	}
	spec["clusters"] = entries
	out := maps.Clone(platform)
	out["spec"] = spec
	return out
}

// clusterNames returns the names in clusters of a PlatformConfig.
func clusterNames(platform map[string]any) map[string]bool {
	out := map[string]bool{}
	spec, _ := platform["spec"].(map[string]any)
	entries, _ := spec["clusters"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if name, ok := entry["name"].(string); ok {
			out[name] = true
		}
	}
	return out
}

// addClusterNames adds the names of the clusters that a spec, or the spec of a claim in it, selects (common.Cluster).
func addClusterNames(spec any, names map[string]bool) {
	switch v := spec.(type) {
	case map[string]any:
		for key, e := range v {
			cluster, _ := e.(map[string]any)
			ref, _ := cluster["ref"].(map[string]any)
			if name, ok := ref["name"].(string); ok && key == "cluster" {
				names[name] = true
			}
			addClusterNames(e, names)
		}
	case []any:
		for _, e := range v {
			addClusterNames(e, names)
		}
	}
}
