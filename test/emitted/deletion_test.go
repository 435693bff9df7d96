package emitted

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// apartPlatform has a cluster for each claim.
const multiClusterPlatform = `{domain: cloud.example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, allowedNamespaces: [gateways]},
	tls: {issuerRef: {name: letsencrypt}}, secretStore: {name: openbao}, limits: [` + limittest.Everything + `], clusters: [
	{name: west, providerConfig: west, allowedNamespaces: ["*"]}, {name: planes, providerConfig: planes, allowedNamespaces: ["*"]}, {name: nodes, providerConfig: nodes, allowedNamespaces: ["*"]}]}`

// An appliedClaim is a claim that may be deleted.
type appliedClaim struct {
	kind, name string
	cluster    *simulate.Cluster
	// existing are the claim and its composite resource, for others.
	existing []*structpb.Struct
}

// multiClusterClaims returns a StorageCluster, a control plane and its hypervisors, each in a separate cluster, and all
// ready. The first two set the deletion policy of their data.
func multiClusterClaims(t *testing.T, policy string) []*appliedClaim {
	t.Helper()
	read := func(file string, edits ...string) []byte {
		data, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strings.NewReplacer(edits...).Replace(string(data)))
	}
	exposure := "exposure: {type: LoadBalancer, networks: [10.20.0.0/16]}"
	claims := []struct {
		kind, name string
		claim      []byte
	}{
		{"StorageCluster", "storage", read("storage/own-cluster.yaml", "\nspec:\n", "\nspec:\n  deletionPolicy: "+policy+"\n")},
		{"ControlPlaneCluster", "production", read("storage/control-plane.yaml",
			"\nspec:\n", "\nspec:\n  deletionPolicy: "+policy+"\n  cluster: {ref: {name: planes}}\n  infrastructure: {rabbitmq: {"+exposure+"}}\n",
			"      ml2:\n", "      ovn: {southbound: {"+exposure+"}}\n      ml2:\n")},
		{"HypervisorCluster", "hypervisors", read("storage/hypervisors.yaml",
			"\nspec:\n", "\nspec:\n  cluster: {ref: {name: nodes}}\n  agents: {metadata: {enabled: false}}\n")},
	}
	platform := document(t, "PlatformConfig", "default", parse(t, multiClusterPlatform), "")
	var out []*appliedClaim
	var existing []*structpb.Struct
	for _, c := range claims {
		w, err := preview.NewCluster(c.claim, platform, kinds.Runners())
		if err != nil {
			t.Fatalf("%s: %v", c.claim, err)
		}
		w.RequiredResources = slices.Clone(existing)
		if err := w.Run(func(simulate.Step) {}); err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		bound, err := preview.Bound(c.claim, w.XR)
		if err != nil {
			t.Fatal(err)
		}
		out, existing = append(out, &appliedClaim{c.kind, c.name, w, bound}), append(existing, bound...)
	}
	return out
}

// blockers returns the messages with which others prevent the deletion of a claim. Nil: none does.
func blockers(all []*appliedClaim, of *appliedClaim) []string {
	var out []string
	for _, l := range all {
		for _, o := range l.cluster.Observed {
			if o.At("kind").Text() == "Usage" && o.At("spec", "of", "kind").Text() == of.kind &&
				o.At("spec", "of", "resourceRef", "name").Text() == of.name {
				out = append(out, l.kind+": "+o.At("spec", "reason").Text())
			}
		}
	}
	slices.Sort(out)
	return out
}

// body returns an object without its wrapper.
func body(o encoded.Struct) encoded.Struct {
	if inner, ok := wrapper.Desired(o); ok {
		return inner
	}
	return o
}

// composed returns the objects after a call of the function in the presence of other claims, and the claim's message.
func (l *appliedClaim) composed(others []*appliedClaim) (names []string, message string) {
	var existing []*structpb.Struct
	for _, o := range others {
		if o != l {
			existing = append(existing, o.existing...)
		}
	}
	w := *l.cluster
	w.RequiredResources = existing
	rsp := kinds.Runners()["X"+l.kind+".crossplane.c5c3.io"].Run(w.Request())
	for _, c := range rsp.Conditions {
		if c.GetType() == "Current" {
			message = c.GetMessage()
		}
	}
	for _, r := range rsp.Results {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return slices.Sorted(maps.Keys(w.Observed)), message // Crossplane changes nothing then.
		}
	}
	return slices.Sorted(maps.Keys(rsp.Composed)), message
}

// dataKinds are the kinds of objects that hold data, or that are required to read it.
var dataKinds = []string{
	"CephCluster", "CephBlockPool", "CephClient", "CephObjectStore", "CephFilesystem", "MariaDB", "RabbitmqCluster", "Valkey", "Namespace",
	"PersistentVolumeClaim",
}

// TestDeletionSucceedsInAnyOrder deletes Ceph, a control plane with data in it, and hypervisors with data in it, in a separate
// cluster each, in every order, and retries rejected deletions. Ceph and the control plane must be kept as long as they
// are in use, and the message must name their users; the remaining claims must stay unchanged, and report missing references; by default no
// object with data is deleted; and in the end all claims are gone.
func TestDeletionSucceedsInAnyOrder(t *testing.T) {
	for _, policy := range []string{"Retain", "Delete"} {
		all := multiClusterClaims(t, policy)
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			var names []string
			for _, i := range order {
				names = append(names, all[i].kind)
			}
			t.Run(policy+" "+strings.Join(names, ", "), func(t *testing.T) {
				remaining, rejected := slices.Clone(all), 0
				for round := 0; len(remaining) > 0; round++ {
					if round == len(all) {
						t.Fatalf("%d claims can never be deleted", len(remaining))
					}
					for _, i := range order {
						claim := all[i]
						if !slices.Contains(remaining, claim) {
							continue
						}
						by := blockers(remaining, claim)
						if want := userCount(remaining, claim); len(by) != want {
							t.Errorf("%s is kept by %q, want %d users", claim.kind, by, want)
						}
						if len(by) > 0 {
							rejected++
							continue
						}
						remaining = slices.DeleteFunc(remaining, func(l *appliedClaim) bool { return l == claim })
						checkLeftovers(t, claim, policy)
						for _, l := range remaining {
							checkUnaffected(t, l, remaining, claim)
						}
					}
				}
				if usersFirst := order == [3]int{2, 1, 0}; (rejected == 0) != usersFirst {
					t.Errorf("%d deletions were rejected", rejected)
				}
			})
		}
	}
}

// userCount returns the number of existing claims that use a claim: Ceph is used by both others, and a control plane by the pool, which has
// an account in its Keystone.
func userCount(existing []*appliedClaim, used *appliedClaim) int {
	users := map[string][]string{"StorageCluster": {"ControlPlaneCluster", "HypervisorCluster"}, "ControlPlaneCluster": {"HypervisorCluster"}}
	n := 0
	for _, l := range existing {
		if slices.Contains(users[used.kind], l.kind) {
			n++
		}
	}
	return n
}

// checkLeftovers checks that a deleted claim leaves all objects with data, unless its policy is Delete, and nothing
// that would continue to copy Secrets from cluster to cluster.
func checkLeftovers(t *testing.T, l *appliedClaim, policy string) {
	t.Helper()
	for name, o := range l.cluster.Observed {
		kind, retained := body(o).At("kind").Text(), wrapper.OrphansOnDelete(o)
		switch deletes := policy == "Delete" && l.kind != "HypervisorCluster"; {
		case slices.Contains(dataKinds, kind) && retained == deletes:
			t.Errorf("%s %s of %s stays: %t, with policy %s", kind, name, l.kind, retained, policy)
		case kind == "PushSecret" && retained:
			t.Errorf("%s of %s continues to push", name, l.kind)
		}
	}
}

// checkUnaffected checks that a claim keeps all its objects when another one is deleted, and reports it if it refers to
// that one.
func checkUnaffected(t *testing.T, l *appliedClaim, remaining []*appliedClaim, removed *appliedClaim) {
	t.Helper()
	got, message := l.composed(remaining)
	if want := slices.Sorted(maps.Keys(l.cluster.Observed)); !slices.Equal(got, want) {
		t.Errorf("without %s, %s has %d objects of %d", removed.kind, l.kind, len(got), len(want))
	}
	needs := map[string][]string{"HypervisorCluster": {"ControlPlaneCluster", "StorageCluster"}, "ControlPlaneCluster": {"StorageCluster"}}
	if slices.Contains(needs[l.kind], removed.kind) && !strings.Contains(message, fmt.Sprintf("there is no %s %s", removed.kind, removed.name)) {
		t.Errorf("without %s, %s reports %q", removed.kind, l.kind, message)
	}
}
