package invariants

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// genWorkloadCluster draws a cluster of a platform. The reports of the fake companion are of clusters with IPv4 addresses.
func genWorkloadCluster(t *rapid.T) (object, map[string][]*structpb.Struct) {
	name := rapid.SampledFrom([]string{"west", "w", "a.west"}).Draw(t, "name")
	xr := definedKinds["workloadcluster"].draw(t, "", name)
	serverOwned(xr["metadata"].(object))
	delete(xr["spec"].(object), "ipFamily")
	platform := withClusters(platforms.draw(t, "", "default"))
	delete(platform["spec"].(object), "ipFamily")
	required := admission.Requirements()
	required["platform"] = []*structpb.Struct{structOf(t, platform)}
	required["provider-config"], required["cluster-provider-config"] = nil, nil // No other owner has created them.
	return xr, required
}

// existingCluster sets the only source of a cluster.
func existingCluster(source object) {
	if source["existing"] == nil {
		source["existing"] = object{"kubeconfigSecretRef": object{"namespace": "clusters", "name": "west"}}
	}
}

// registeredCluster returns the cluster of the examples.
func registeredCluster(t *testing.T) *simulate.Cluster {
	t.Helper()
	cluster, err := examples.Files.ReadFile("workloadcluster/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := preview.NewCluster(cluster, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// invalidWorkloadClusters are the changes that the function of a WorkloadCluster rejects.
var invalidWorkloadClusters = map[string]invalidChange{
	"no source": in(object{}, "spec.source: existing is required", "source"),
	"another cluster of the platform": {typ: respond.SpecValid, wantMessage: "so claims would use another cluster", make: func(w *simulation, _ object) {
		name, _ := w.xr["metadata"].(object)["name"].(string)
		w.require("platform", platformWith(object{"domain": "example.com", "clusters": list{
			object{"name": name, "providerConfig": "other", "allowedNamespaces": list{"*"}},
		}}))
	}},
	"no PlatformConfig": {typ: respond.Composed, wantMessage: "no PlatformConfig", make: func(w *simulation, _ object) { w.require("platform") }},
}
