package invariants

import (
	"maps"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// cloudSettings draw the parts of an OpenStackCluster from a few specs: the claims of the parts have histories of their own.
var cloudSettings = definedKind{
	fix: func(spec object) {
		delete(spec["controlPlane"].(object), "ref")
		spec["openStackRelease"] = "2025.2"
		if storage, ok := spec["storage"].(object); ok {
			delete(storage, "ref")
		}
		pools, _ := spec["hypervisorPools"].(list)
		for i, p := range pools {
			p := p.(object)
			p["name"] = []string{"a", "b", "c"}[i]
			delete(p, "ref")
			if p["spec"] == nil {
				p["spec"] = object{}
			}
		}
	},
	own: map[string]constraint{
		"spec.controlPlane": {instead: rapid.SampledFrom([]any{
			object{"spec": object{}}, object{"spec": object{"deletionPolicy": "Delete", "services": object{"glance": object{
				"enabled": true, "stores": list{object{"name": "main", "ceph": object{"pool": "images"}}},
			}}}},
		})},
		"spec.storage": {instead: rapid.SampledFrom([]any{
			object{"spec": object{"deviceSelector": object{"all": true}}},
			object{"spec": object{"deviceSelector": object{"all": true}, "deletionPolicy": "Delete"}},
		})},
		"spec.hypervisorPools[].spec": {instead: rapid.SampledFrom([]any{
			object{}, object{"storage": object{"pool": "vms"}}, object{"allowDeletionWithVirtualMachines": true},
		})},
	},
}

// cloudOrders: a claim is created when the claims to which it refers exist.
var cloudOrders = []order{
	{first: `StorageCluster.* .*-storage`, then: `(ControlPlane|Hypervisor)Cluster.* .*`, exists: true, why: "they refer to it"},
	{first: `ControlPlaneCluster.* .*`, then: `HypervisorCluster.* .*`, exists: true, why: "it refers to it"},
	{first: `HypervisorCluster.* .*`, then: `Usage.* .*`, exists: true, why: "it is its user"},
}

// genCloud draws an OpenStackCluster of a tenant.
func genCloud(t *rapid.T) (object, map[string][]*structpb.Struct) {
	k := definedKinds["cloud"]
	spec := k.draw(t, "tenant-a", "whole")["spec"].(object)
	delete(spec, "compositeDeletePolicy") // Crossplane's, of claims only.
	spec["claimRef"] = object{"apiVersion": k.apiVersion, "kind": k.kind, "namespace": "tenant-a", "name": "whole"}
	required := admission.Requirements()
	required["platform"] = []*structpb.Struct{structOf(t, platforms.draw(t, "", "default"))}
	return object{
		"apiVersion": k.apiVersion, "kind": k.composite, "metadata": serverOwned(object{"name": "whole-x7k2p"}), "spec": spec,
	}, required
}

// wholeCloud returns the cloud of its function's tests in which every part is new. Its claims are not composed.
func wholeCloud(t *testing.T) *simulate.Cluster {
	t.Helper()
	xr := composite(t, definedKinds["cloud"], "whole", "new")
	delete(xr.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	ref, err := structpb.NewStruct(object{"namespace": "tenant-a", "name": "whole"})
	if err != nil {
		t.Fatal(err)
	}
	xr.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(ref)
	platform, err := structpb.NewStruct(object{"metadata": object{"name": "default"}, "spec": object{"domain": "example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	required := admission.Requirements()
	required["platform"] = []*structpb.Struct{platform}
	runners := kinds.Runners()
	maps.DeleteFunc(runners, func(kind string, _ function.Runner) bool { return kind != "XOpenStackCluster.crossplane.c5c3.io" })
	return &simulate.Cluster{XR: xr, Kinds: runners, Required: required}
}
