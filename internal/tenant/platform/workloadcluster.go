package platform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// clusterRequirement precedes the name of a WorkloadCluster in the name of its requirement.
const clusterRequirement = "workload-cluster."

// RequireCluster adds the requirement of the WorkloadCluster with a name, unless the PlatformConfig has the same cluster with this name,
// which takes precedence until the platform team removes it. An entry with another provider config could be another cluster, and the
// objects of claims could be in either: Read decides. Without a name, it adds none.
func RequireCluster(required map[string][]*structpb.Struct, name common.ObjectName, into map[string]wire.Selector) {
	p, err := readConfig(required)
	if name == "" || err != nil {
		return
	}
	if entry, ok := entryOf(p, name); ok && entry.ProviderConfig == name {
		return
	}
	apiVersion, kind := workloadclusterv1.GroupVersionKind.ToAPIVersionAndKind()
	into[clusterRequirement+string(name)] = wire.Selector{APIVersion: apiVersion, Kind: kind, Name: string(name)}
}

// entryOf returns the cluster of the PlatformConfig with a name.
func entryOf(p *platformv1.PlatformConfigSpec, name common.ObjectName) (platformv1.Cluster, bool) {
	i := slices.IndexFunc(p.Clusters, func(c platformv1.Cluster) bool { return c.Name == name })
	if i < 0 {
		return platformv1.Cluster{}, false
	}
	return p.Clusters[i], true
}

// RequireClusterOf is RequireCluster for the cluster that a claim selects.
func RequireClusterOf(required map[string][]*structpb.Struct, c *common.Cluster, into map[string]wire.Selector) {
	if c != nil && c.Ref != nil {
		RequireCluster(required, c.Ref.Name, into)
	}
}

// workloadClusters returns the WorkloadClusters among the required resources, by name.
func workloadClusters(required map[string][]*structpb.Struct) (map[string]workloadclusterv1.WorkloadCluster, error) {
	out := map[string]workloadclusterv1.WorkloadCluster{}
	for requirement, found := range required {
		name, ok := strings.CutPrefix(requirement, clusterRequirement)
		if !ok || len(found) == 0 {
			continue
		}
		c := workloadclusterv1.WorkloadCluster{}
		if err := function.Decode(found[0], &c); err != nil {
			return nil, fmt.Errorf("cannot read WorkloadCluster %s: %w", name, err)
		}
		out[name] = c
	}
	return out, nil
}

// withWorkloadClusters adds the required WorkloadClusters to the clusters of a PlatformConfig, sorted by name. Their provider configs have
// the same names. An entry with the same name takes precedence. It returns an error if the entry has another provider config and the
// WorkloadCluster is composed: objects of its claims would move to another cluster. A WorkloadCluster that was created after such an entry
// is rejected, and never composed.
func withWorkloadClusters(p *platformv1.PlatformConfigSpec, required map[string][]*structpb.Struct) error {
	found, err := workloadClusters(required)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if entry, ok := entryOf(p, common.ObjectName(name)); ok {
			if string(entry.ProviderConfig) != name && found[name].Status.Instance != "" {
				return fmt.Errorf("cluster %q is a WorkloadCluster, and clusters of the PlatformConfig has it with provider config %s: claims would "+
					"move to another cluster; the platform team must remove the entry, or give it another name", name, entry.ProviderConfig)
			}
			continue
		}
		p.Clusters = append(p.Clusters, platformv1.Cluster{
			Name: common.ObjectName(name), ProviderConfig: common.ObjectName(name), IPFamily: found[name].Spec.IPFamily,
			AllowedNamespaces: found[name].Spec.AllowedNamespaces,
		})
	}
	return nil
}

// Target returns the provider config of the cluster that a claim selects, for a role. A claim of which nothing is composed yet is checked
// by CheckRole. If the cluster of a composed claim was removed, this is an error of the platform: the tenant cannot select another one.
func Target(p *platformv1.PlatformConfigSpec, required map[string][]*structpb.Struct, namespace string, c *common.Cluster,
	role workloadclusterv1.Role, composed bool,
) (string, error) {
	at, err := Cluster(p, namespace, c)
	switch {
	case err == nil && !composed:
		return at, CheckRole(required, c, role)
	case err != nil && composed:
		if _, gone := ClusterOf(p, "the claim", c.Ref.Name); gone != nil {
			return "", gone
		}
	}
	return at, err
}

// CheckRole returns an error if a claim selects a WorkloadCluster that lacks a role, or something that the role requires, or whose
// status is not current. Call it for claims of which nothing is composed yet: running workloads are reconciled also if a cluster lacks
// something later.
func CheckRole(required map[string][]*structpb.Struct, c *common.Cluster, role workloadclusterv1.Role) error {
	if c == nil || c.Ref == nil {
		return nil
	}
	found, err := workloadClusters(required)
	if err != nil {
		return err
	}
	p, err := readConfig(required)
	if err != nil {
		return err
	}
	cluster, ok := found[string(c.Ref.Name)]
	if _, listed := entryOf(p, c.Ref.Name); !ok || listed { // A cluster of the PlatformConfig has no roles.
		return nil
	}
	if cluster.DeletionTimestamp != nil {
		return invalid.Field(clusterField, "cluster %q is being deleted; choose another cluster", c.Ref.Name)
	}
	if !slices.Contains(cluster.Spec.Roles, role) {
		return invalid.Field(clusterField, "cluster %q does not have the role %s; choose another cluster, or contact the platform team to add "+
			"the role to the WorkloadCluster", c.Ref.Name, role)
	}
	at := cluster.Status.ObservedAt
	if at == nil {
		return notChecked(c.Ref.Name)
	}
	subject := freshness.Subject{Kind: workloadclusterv1.GroupVersionKind.Kind, Name: cluster.Name}
	if freshness.ReadClock(required).StaleReason(subject, at.Time, freshness.ClusterReportLimit) != "" {
		return invalid.Field(clusterField, "cluster %q was last checked at %s; contact the platform team to look at the condition Reachable of "+
			"the WorkloadCluster", c.Ref.Name, at.UTC().Format(time.RFC3339))
	}
	if isUnreachable(required[clusterRequirement+string(c.Ref.Name)][0]) {
		return invalid.Field(clusterField, "cluster %q is not reachable; contact the platform team to look at the condition Reachable of the "+
			"WorkloadCluster", c.Ref.Name)
	}
	i := slices.IndexFunc(cluster.Status.Roles, func(s workloadclusterv1.RoleStatus) bool { return s.Role == role })
	switch {
	case i < 0 || cluster.Status.Roles[i].Ready == nil:
		return notChecked(c.Ref.Name)
	case !*cluster.Status.Roles[i].Ready:
		return invalid.Field(clusterField, "cluster %q lacks requirements of the role %s: %s; contact the platform team, or choose another "+
			"cluster", c.Ref.Name, role, strings.Join(cluster.Status.Roles[i].Missing, "; "))
	}
	return nil
}

// clusterField selects the cluster of a claim.
const clusterField = "spec.cluster.ref.name"

// notChecked returns the error for a cluster without a complete report.
func notChecked(name common.ObjectName) error {
	return invalid.Field(clusterField, "cluster %q has not been checked yet; wait, or contact the platform team to look at the conditions of "+
		"the WorkloadCluster", name)
}

// isUnreachable reports whether the condition Reachable of a WorkloadCluster is False.
func isUnreachable(cluster *structpb.Struct) bool {
	conditions := cluster.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue().GetValues()
	return slices.ContainsFunc(conditions, func(c *structpb.Value) bool {
		fields := c.GetStructValue().GetFields()
		return fields["type"].GetStringValue() == "Reachable" && fields["status"].GetStringValue() == string(metav1.ConditionFalse)
	})
}

// CheckWorkloadCluster returns an error if a WorkloadCluster contradicts the PlatformConfig: its provider configs have the same name. No
// other cluster may use them, and an entry of clusters with this name must describe the same cluster.
func CheckWorkloadCluster(p *platformv1.PlatformConfigSpec, name string, family common.IPFamily) error {
	if name == Management(p) {
		return invalid.Field("metadata.name", "%s is the provider config of the management cluster, which this object would replace; choose "+
			"another name", name)
	}
	for _, c := range p.Clusters {
		if string(c.ProviderConfig) == name && string(c.Name) != name {
			return invalid.Field("metadata.name", "%s is the provider config of cluster %s of the PlatformConfig, which this object would "+
				"replace; choose another name", name, c.Name)
		}
	}
	i := slices.IndexFunc(p.Clusters, func(c platformv1.Cluster) bool { return string(c.Name) == name })
	if i < 0 {
		return nil
	}
	entry := p.Clusters[i]
	if string(entry.ProviderConfig) != name {
		return invalid.Field("metadata.name", "the PlatformConfig has a cluster %s with provider config %s, so claims would use another cluster "+
			"than this one; choose another name", name, entry.ProviderConfig)
	}
	if own, listed := cmp.Or(family, p.IPFamily), cmp.Or(entry.IPFamily, p.IPFamily); own != listed {
		return invalid.Field("spec.ipFamily", "%s differs from %s in clusters of the PlatformConfig; set both to the first address family of "+
			"the cluster's Services", own, listed)
	}
	return nil
}
