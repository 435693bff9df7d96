package respond_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

func TestWrap(t *testing.T) {
	body := map[string]any{"kind": "A", "metadata": map[string]any{"name": "a", "namespace": "cloud"}}
	local := respond.Target{Prefix: "cloud", Management: "here", Workload: "here"}
	remote := respond.Target{Prefix: "cloud", Management: "here", Workload: "there", Remote: true}
	namespaced := respond.Target{Namespaced: true, Namespace: "cloud", Prefix: "keystone", Management: "here", Workload: "here"}
	external := namespaced
	external.Namespace = "other"
	deleting := local
	deleting.DeleteData = true

	keep := []any{"Observe", "Create", "Update", "LateInitialize"}
	all := []any{"*"}
	// clusterObject and namespacedObject are the Objects of composite resources of both scopes.
	clusterObject := func(config string, policies []any, readiness map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "cloud-r"},
			"spec": map[string]any{
				"forProvider": map[string]any{"manifest": body}, "managementPolicies": policies, "readiness": readiness,
				"providerConfigRef": map[string]any{"name": config}, "watch": true,
			},
		}
	}
	namespacedObject := func(namespace string) map[string]any {
		o := clusterObject("here", all, map[string]any{"policy": "SuccessfulCreate"})
		o["apiVersion"] = "kubernetes.m.crossplane.io/v1alpha1"
		o["metadata"] = map[string]any{"name": "keystone-r", "namespace": namespace}
		o["spec"].(map[string]any)["providerConfigRef"] = map[string]any{"name": "here", "kind": "ClusterProviderConfig"}
		return o
	}
	exists := map[string]any{"policy": "SuccessfulCreate"}
	query := map[string]any{"policy": "DeriveFromCelQuery", "celQuery": "object.done"}

	cases := map[string]struct {
		reason string
		place  respond.Target
		item   compose.Item
		want   map[string]any
	}{
		"Local": {
			reason: "Objects that Crossplane can compose directly have no wrapper.",
			place:  local,
			want:   body,
		},
		"Retained": {
			reason: "Crossplane cannot orphan composed objects; an Object without the Delete policy can.",
			place:  local,
			item:   compose.Item{Retain: true, Rule: ready.Rule{CEL: "object.done"}},
			want:   clusterObject("here", keep, query),
		},
		"RetainedUntilDeleted": {
			reason: "It stays an Object when data may be deleted, so that the policy of a living claim can be changed.",
			place:  deleting,
			item:   compose.Item{Retain: true},
			want:   clusterObject("here", all, exists),
		},
		"Remote": {
			reason: "Another cluster is only reached by an Object.",
			place:  remote,
			item:   compose.Item{Rule: ready.Rule{CEL: "object.done"}},
			want:   clusterObject("there", all, query),
		},
		"RemoteRetained": {
			reason: "Both reasons at once.",
			place:  remote,
			item:   compose.Item{Retain: true},
			want:   clusterObject("there", keep, exists),
		},
		"RemoteManagement": {
			reason: "Management objects stay in the management cluster with remote workloads.",
			place:  remote,
			item:   compose.Item{Management: true},
			want:   body,
		},
		"RemoteManagementRetained": {
			reason: "Its Object names the management cluster.",
			place:  remote,
			item:   compose.Item{Management: true, Retain: true},
			want:   clusterObject("here", keep, exists),
		},
		"Third": {
			reason: "An object may be in a third cluster, with external workloads.",
			place:  remote,
			item:   compose.Item{Cluster: "yonder", Retain: true},
			want:   clusterObject("yonder", keep, exists),
		},
		"ThirdFromLocal": {
			reason: "So it may where the workloads are in the management cluster.",
			place:  local,
			item:   compose.Item{Cluster: "yonder"},
			want:   clusterObject("yonder", all, exists),
		},
		"ThirdIsManagement": {
			reason: "That cluster may be the management cluster.",
			place:  remote,
			item:   compose.Item{Cluster: "here"},
			want:   body,
		},
		"Observed": {
			reason: "External objects are only observed, even if data is deleted.",
			place:  deleting,
			item:   compose.Item{Observe: true},
			want:   clusterObject("here", []any{"Observe"}, exists),
		},
		"ObservedElsewhere": {
			reason: "It may be in another cluster.",
			place:  remote,
			item:   compose.Item{Observe: true},
			want:   clusterObject("there", []any{"Observe"}, exists),
		},
		"Namespaced": {
			reason: "A namespaced composite resource directly composes objects in its namespace.",
			place:  namespaced,
			want:   body,
		},
		"NamespacedElsewhere": {
			reason: "Crossplane would replace the namespace of an object in another namespace.",
			place:  external,
			want:   namespacedObject("other"),
		},
		"NamespacedClusterScoped": {
			reason: "It cannot compose cluster-scoped objects.",
			place:  namespaced,
			item:   compose.Item{Rule: ready.Rule{ClusterScoped: true}},
			want:   namespacedObject("cloud"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.item.Name, tc.item.Kind, tc.item.Body = "r", schema.GroupVersionKind{Kind: "A"}, encoded.Of(structOf(t, maps.Clone(body)))
			plan := compose.Plan{RetainedRevisions: []compose.Item{tc.item}}
			rsp := respond.Success(wire.RequestOf(request(t)), plan, tc.place, nil).Message()
			if diff := cmp.Diff(tc.want, rsp.GetDesired().GetResources()["r"].GetResource().AsMap()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			meta := tc.want["metadata"].(map[string]any)
			want := compose.Reference{Name: meta["name"].(string)}
			want.Namespace, _ = meta["namespace"].(string)
			apiVersion, _ := tc.want["apiVersion"].(string)
			want.Kind = schema.FromAPIVersionAndKind(apiVersion, tc.want["kind"].(string))
			if diff := cmp.Diff(want, tc.place.Reference(tc.item)); diff != "" {
				t.Errorf("%s\nReference(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCheckClustersRejectsMoves tests that no object moves to another cluster, where it would exist without its data.
func TestCheckClustersRejectsMoves(t *testing.T) {
	remote := respond.Target{Prefix: "cloud", Management: "here", Workload: "there", Remote: true}
	object := func(config string) map[string]any {
		return map[string]any{
			"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "cloud-r"},
			"spec": map[string]any{
				"forProvider":       map[string]any{"manifest": map[string]any{"apiVersion": "v1", "kind": "Secret"}},
				"providerConfigRef": map[string]any{"name": config},
			},
		}
	}
	direct := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}}
	const moves = "r is in the cluster with the provider config %s, and would move to %s without its data; restore the provider config %s in the " +
		"PlatformConfig (spec.clusters or spec.providerConfig)"
	cases := map[string]struct {
		reason   string
		place    respond.Target
		item     compose.Item
		observed map[string]any
		want     string
	}{
		"New": {reason: "A new resource moves from nowhere.", place: remote},
		"SameCluster": {
			reason: "The provider config has not changed.", place: remote, observed: object("there"),
		},
		"OtherCluster": {
			reason: "The provider config of the claim's cluster has changed.", place: remote, observed: object("east"),
			want: fmt.Sprintf(moves, "east", "there", "east"),
		},
		"FromManagement": {
			reason: "Crossplane composed the object directly, in the management cluster.", place: remote, observed: direct,
			want: fmt.Sprintf(moves, "here", "there", "here"),
		},
		"ToManagement": {
			reason: "The claim's cluster is the management cluster now.", place: remote, item: compose.Item{Management: true},
			observed: object("there"), want: fmt.Sprintf(moves, "there", "here", "there"),
		},
		"ThirdCluster": {
			reason: "An item of a third cluster, such as the Secret of a control plane, does not move either.", place: remote,
			item: compose.Item{Cluster: "west"}, observed: object("there"), want: fmt.Sprintf(moves, "there", "west", "there"),
		},
		"Wrapped": {
			reason: "An object that gets a wrapper stays in the management cluster.", place: remote,
			item: compose.Item{Management: true, Retain: true}, observed: direct,
		},
		"ObserveOnly": {
			reason: "An object that is only observed has no data of the claim.", place: remote, item: compose.Item{Observe: true},
			observed: object("east"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.item.Name = "r"
			resources := map[string]encoded.Struct{}
			if tc.observed != nil {
				resources["r"] = encoded.Of(structOf(t, tc.observed))
			}
			observed, err := observe.New(resources)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := tc.place.CheckClusters(compose.Plan{RetainedRevisions: []compose.Item{tc.item}}, observed); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nCheckClusters(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObjectName tests that every name is short enough for the field manager of provider-kubernetes, and unique, and that short names are
// not changed.
func TestObjectName(t *testing.T) {
	const longest = 128 - len("provider-kubernetes/")
	place := respond.Target{Prefix: strings.Repeat("p", 63), Management: "here", Workload: "there", Remote: true}
	used := map[string]bool{}
	for n := 1; n <= 120; n++ {
		resource := strings.Repeat("r", n)
		got, full := place.Reference(compose.Item{Name: resource}).Name, place.Prefix+"-"+resource
		if len(full) <= longest && got != full {
			t.Errorf("the Object around %s is called %s, want %s", resource, got, full)
		}
		if len(got) > longest || used[got] {
			t.Errorf("the Object around %s has the name %s of %d characters, which is too long or not unique", resource, got, len(got))
		}
		used[got] = true
	}
}
