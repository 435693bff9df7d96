package platform_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

func parsed(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// required returns the resources of a claim: the PlatformConfig, and WorkloadClusters by name.
func required(t *testing.T, config string, clusters map[string]string) map[string][]*structpb.Struct {
	t.Helper()
	out := map[string][]*structpb.Struct{"platform": {parsed(t, "{spec: {domain: example.com, "+config+"}}")}}
	for name, text := range clusters {
		out["workload-cluster."+name] = nil
		if text != "" {
			out["workload-cluster."+name] = []*structpb.Struct{parsed(t, text)}
		}
	}
	return out
}

const entryWest = "clusters: [{name: west, providerConfig: west, allowedNamespaces: [team-a]}]"

func TestRequireCluster(t *testing.T) {
	west := map[string]wire.Selector{"workload-cluster.west": {APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "WorkloadCluster", Name: "west"}}
	selects := func(name common.ObjectName) *common.Cluster {
		return &common.Cluster{Ref: &common.ClusterReference{Name: name}}
	}
	for name, tc := range map[string]struct {
		reason, config string
		cluster        *common.Cluster
		want           map[string]wire.Selector
	}{
		"none":         {reason: "The management cluster is no WorkloadCluster."},
		"no name":      {reason: "The schema rejects it.", cluster: &common.Cluster{}},
		"entry":        {reason: "An entry of the PlatformConfig takes precedence.", config: entryWest, cluster: selects("west")},
		"other config": {reason: "The entry could be another cluster.", config: "clusters: [{name: west, providerConfig: old, allowedNamespaces: [team-a]}]", cluster: selects("west"), want: west},
		"other entry":  {reason: "Another entry has no effect.", config: entryWest, cluster: selects("east"), want: map[string]wire.Selector{"workload-cluster.east": {APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "WorkloadCluster", Name: "east"}}},
		"new":          {reason: "It is looked up by its name.", cluster: selects("west"), want: west},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]wire.Selector{}
			platform.RequireClusterOf(required(t, tc.config, nil), tc.cluster, got)
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	got := map[string]wire.Selector{}
	platform.RequireCluster(nil, "west", got)
	if len(got) > 0 {
		t.Errorf("without a PlatformConfig, %v is required", got)
	}
}

// TestWorkloadClusters checks that a claim selects a WorkloadCluster as an entry of the PlatformConfig.
func TestWorkloadClusters(t *testing.T) {
	const west = "{spec: {allowedNamespaces: [team-*], ipFamily: IPv6}}"
	for name, tc := range map[string]struct {
		reason, config, namespace string
		clusters                  map[string]string
		want                      string
	}{
		"allowed": {reason: "The provider config has the name of the cluster.", namespace: "team-a", clusters: map[string]string{"west": west}, want: "west IPv6"},
		"denied":  {reason: "The namespace is not allowed.", namespace: "other", clusters: map[string]string{"west": west}},
		"missing": {reason: "It does not exist.", namespace: "team-a", clusters: map[string]string{"west": ""}},
		"none":    {reason: "Without namespaces, no claim is allowed.", namespace: "team-a", clusters: map[string]string{"west": "{spec: {}}"}},
		"entry":   {reason: "An entry takes precedence, with its address family.", config: entryWest, namespace: "team-a", clusters: map[string]string{"west": west}, want: "west "},
		"entry that denies": {
			reason: "During the migration, the entry decides who may use the cluster.", config: entryWest, namespace: "team-b",
			clusters: map[string]string{"west": west},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := platform.Read(required(t, tc.config, tc.clusters))
			if err != nil {
				t.Fatal(err)
			}
			got, err := platform.Cluster(p, tc.namespace, &common.Cluster{Ref: &common.ClusterReference{Name: "west"}})
			if err == nil {
				got += " " + string(platform.IPFamily(p, got))
			}
			if got != tc.want || (err == nil) != (tc.want != "") || err != nil && !invalid.Is(err) {
				t.Errorf("%s\ngot %q, %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
	p, err := platform.Read(required(t, "", map[string]string{"west": west, "east": west, "north": west}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Clusters {
		got = append(got, string(c.Name))
	}
	if !slices.Equal(got, []string{"east", "north", "west"}) {
		t.Errorf("clusters in the order %v", got)
	}
	const old = "clusters: [{name: west, providerConfig: old, allowedNamespaces: [team-a]}]"
	want := `cluster "west" is a WorkloadCluster, and clusters of the PlatformConfig has it with provider config old: claims would move to another ` +
		"cluster; the platform team must remove the entry, or give it another name"
	const composed = "{spec: {allowedNamespaces: [team-*]}, status: {instance: west-1}}"
	if _, err := platform.Read(required(t, old, map[string]string{"west": west})); err != nil {
		t.Errorf("the WorkloadCluster was created after the entry, and is rejected: %v", err)
	}
	if _, err := platform.Read(required(t, old, map[string]string{"west": composed})); err == nil || invalid.Is(err) || err.Error() != want {
		t.Errorf("an entry for another cluster: %v, want %s", err, want)
	}
	if _, err := platform.Read(required(t, old, map[string]string{"west": ""})); err != nil {
		t.Errorf("an entry without a WorkloadCluster: %v", err)
	}
	if _, err := platform.Read(required(t, "", map[string]string{"west": "{spec: {roles: no}}"})); err == nil || err.Error() == "" || invalid.Is(err) {
		t.Errorf("an unreadable WorkloadCluster is an error of the tenant: %v", err)
	}
}

func TestCheckRole(t *testing.T) {
	of := func(roles, status string) map[string]string {
		return map[string]string{"west": "{spec: {roles: [" + roles + "]}, status: {observedAt: '2026-05-01T00:00:00Z', roles: [" + status + "]}}"}
	}
	storage := func(metadata, status string) map[string]string {
		return map[string]string{"west": "{metadata: {" + metadata + "}, spec: {roles: [storage]}, status: {roles: [{role: storage, ready: true}], " + status + "}}"}
	}
	const field = "spec.cluster.ref.name: "
	for name, tc := range map[string]struct {
		reason, config string
		clusters       map[string]string
		want           string
	}{
		"no time": {
			reason: "The age is unknown.", clusters: storage("", ""),
			want: field + `cluster "west" has not been checked yet; wait, or contact the platform team to look at the conditions of the WorkloadCluster`,
		},
		"recent": {reason: "The limit is accepted.", clusters: storage("", "observedAt: '2026-04-30T23:45:00Z', conditions: [{type: Reachable, status: 'True'}]")},
		"old": {
			reason: "The companion has stopped.", clusters: storage("", "observedAt: '2026-04-30T23:44:59Z'"),
			want: field + `cluster "west" was last checked at 2026-04-30T23:44:59Z; contact the platform team to look at the condition Reachable of the WorkloadCluster`,
		},
		"unreachable": {
			reason: "Nothing could be created.", clusters: storage("", "observedAt: '2026-05-01T00:00:00Z', conditions: [{type: Reachable, status: 'False'}]"),
			want: field + `cluster "west" is not reachable; contact the platform team to look at the condition Reachable of the WorkloadCluster`,
		},
		"deleted": {
			reason: "Its access would not be reconciled.", clusters: storage("deletionTimestamp: '2026-05-01T00:00:00Z'", "observedAt: '2026-05-01T00:00:00Z'"),
			want: field + `cluster "west" is being deleted; choose another cluster`,
		},
		"ready":  {reason: "It has everything.", clusters: of("storage", "{role: controlPlane, ready: false}, {role: storage, ready: true}")},
		"entry":  {reason: "A cluster of the PlatformConfig is not checked.", config: entryWest},
		"both":   {reason: "Nor during the migration.", config: entryWest, clusters: of("controlPlane", "")},
		"absent": {reason: "platform.Cluster rejects it.", clusters: map[string]string{"west": ""}},
		"role": {
			reason: "The platform has not meant it for storage.", clusters: of("controlPlane", "{role: controlPlane, ready: true}"),
			want: field + `cluster "west" does not have the role storage; choose another cluster, or contact the platform team to add the role to the WorkloadCluster`,
		},
		"unknown": {
			reason: "A new cluster has no report.", clusters: of("storage", "{role: storage}"),
			want: field + `cluster "west" has not been checked yet; wait, or contact the platform team to look at the conditions of the WorkloadCluster`,
		},
		"no status": {
			reason: "Nor without a status.", clusters: of("storage", ""),
			want: field + `cluster "west" has not been checked yet; wait, or contact the platform team to look at the conditions of the WorkloadCluster`,
		},
		"lacks": {
			reason: "Each sentence has a remedy.", clusters: of("storage", "{role: storage, ready: false, missing: [no disks; add disks, no Rook; install it]}"),
			want: field + `cluster "west" lacks requirements of the role storage: no disks; add disks; no Rook; install it; contact the platform team, or choose another cluster`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := required(t, tc.config, tc.clusters)
			in["clock"] = []*structpb.Struct{parsed(t, "{status: {lastScheduleTime: '2026-05-01T00:10:00Z'}}")}
			before := maps.Clone(in)
			err := platform.CheckRole(in, &common.Cluster{Ref: &common.ClusterReference{Name: "west"}}, workloadclusterv1.Storage)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want || err != nil && !invalid.Is(err) {
				t.Errorf("%s\ngot %q\nwant %q, as an invalid claim", tc.reason, got, tc.want)
			}
			if len(before) != len(in) {
				t.Error("the requirements changed")
			}
		})
	}
	if err := platform.CheckRole(nil, nil, workloadclusterv1.Storage); err != nil {
		t.Errorf("the management cluster has no roles: %v", err)
	}
}
