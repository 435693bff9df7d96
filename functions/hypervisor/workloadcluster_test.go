package hypervisor

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// TestOnlyNewClaimsRequireReadyWorkloadCluster verifies that a pool selects a WorkloadCluster, that it finds the WorkloadCluster of its
// control plane, and that only a new pool is rejected if its cluster lacks something.
func TestOnlyNewClaimsRequireReadyWorkloadCluster(t *testing.T) {
	cluster := func(name, role string) []*structpb.Struct {
		return objects("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: WorkloadCluster, metadata: {name: " + name + "}, " +
			"spec: {roles: [hypervisor], allowedNamespaces: [tenant-a]}, status: {observedAt: '2026-05-01T00:00:00Z', roles: [{role: hypervisor, " + role + "}]}}")
	}
	south := func(role string) []*structpb.Struct {
		return slices.Concat(objects(planeClaim, controlPlaneIn("north")), cluster("north", "ready: false"), cluster("south", role))
	}
	w := newCluster(inCluster(mine, "south"), "tenant-a", south("ready: false, missing: [no node is Ready; add one]")...)
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + open + `}`)
	want := `cluster "south" lacks requirements of the role hypervisor: no node is Ready; add one;`
	if _, _, err := w.Explain(New()); !invalid.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("a new pool has the error %v, want %s", err, want)
	}
	w.RequiredResources = south("ready: true")
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	for _, o := range w.Observed {
		places[wrapper.ProviderConfig(o)] = true
	}
	if !places["south"] || !places["north"] {
		t.Errorf("objects are in %v", places)
	}
	before := len(w.Observed)
	w.RequiredResources = south("ready: false")
	rsp, _, err := w.Explain(New())
	if err != nil || len(rsp.Composed) != before {
		t.Errorf("an existing pool has the error %v", err)
	}
	// The control plane cannot be read. The pool knows its cluster by its own status.
	w.RequiredResources = slices.Concat(cluster("north", "ready: true"), cluster("south", "ready: true"), objects(planeClaim))
	if rsp, _, err = w.Explain(New()); err != nil || len(rsp.Composed) != before {
		t.Errorf("without the control plane, the pool has the error %v", err)
	}
	// The platform team deletes the WorkloadCluster. The tenant cannot select another one.
	w.RequiredResources = slices.Concat(cluster("north", "ready: true"), objects(planeClaim, controlPlaneIn("north")))
	want = `cluster "south", which is neither a WorkloadCluster nor in clusters of the PlatformConfig; the platform team has to register it again`
	if _, _, err = w.Explain(New()); err == nil || invalid.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("without the WorkloadCluster, an existing pool has the error %v, want %s", err, want)
	}
}
