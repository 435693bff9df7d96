package invariants

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// TestComposedObjectsHaveNoFindings checks that wiring.Check has no findings about the objects composed for random claims on random platforms.
func TestComposedObjectsHaveNoFindings(t *testing.T) {
	t.Parallel()
	judged, withCells, found := 0, 0, false
	rapid.Check(t, func(t *rapid.T) {
		if judged == clouds && !found { // A failure is reproduced with fewer clouds while rapid shrinks it.
			return
		}
		claim, platform := claims.draw(t, "tenant-a", "cloud"), platforms.draw(t, "", "default")
		spec := platform["spec"].(object)
		spec["limits"] = list{allowAll}
		spec["clusters"] = list{object{"name": "east", "providerConfig": "east", "allowedNamespaces": list{"*"}},
			object{"name": "here", "providerConfig": "in-cluster", "allowedNamespaces": list{"*"}}}
		if spec["secretStore"] == nil {
			spec["secretStore"] = object{"name": "store", "kind": "ClusterSecretStore"}
		}
		if rapid.IntRange(0, 2).Draw(t, "with Nova") == 0 {
			withNova(claim["spec"].(object), spec)
		}
		unsynced(claim["spec"].(object))
		r, err := preview.Run(marshalYAML(t, claim), marshalYAML(t, platform), kinds.Runners())
		if rejected := (*preview.ValidationErrors)(nil); errors.As(err, &rejected) {
			t.Skipf("the claim is refused: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		cloud := wiring.Cloud{Given: []map[string]any{claim, platform}}
		for _, o := range r.Objects {
			cloud.Objects = append(cloud.Objects, wiring.Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
		}
		judged++
		if slices.ContainsFunc(r.Objects, func(o preview.Object) bool { return o.Kind == "CellMapping" }) {
			withCells++
		}
		for _, finding := range wiring.Check(cloud) {
			found = true
			t.Error(finding)
		}
	})
	t.Logf("%d clouds were judged, %d with cells of Nova", judged, withCells)
}

// withNova enables Nova with everything that it requires, and keeps the claim's other settings for it: a random claim
// seldom has all of that.
func withNova(claim, platform object) {
	platform["queueIssuer"] = "queues"
	services := under(claim, "services")
	for _, service := range []string{"nova", "placement"} {
		under(services, service)["enabled"] = true
	}
	if infrastructure, ok := claim["infrastructure"].(object); ok {
		delete(infrastructure, "rabbitmq")
	}
}

// under returns the object in a field, which it creates if it is missing.
func under(o object, field string) object {
	in, ok := o[field].(object)
	if !ok {
		in = object{}
		o[field] = in
	}
	return in
}

// clouds is the number of judged clouds: each takes as long as a hundred states of a history.
var clouds = effort.Of(2, 40)

func marshalYAML(t *rapid.T, o object) []byte {
	b, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unsynced disables the comparison of Neutron with OVN: its tool is configured with services and logins that it does
// not use (sync of functions/neutron), which test/wiring cannot detect.
func unsynced(claim object) {
	services, _ := claim["services"].(object)
	neutron, _ := services["neutron"].(object)
	ovn, _ := neutron["ovn"].(object)
	delete(ovn, "sync")
}
