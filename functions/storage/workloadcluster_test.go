package storage

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// TestOnlyNewClaimsRequireReadyWorkloadCluster verifies that a claim selects a WorkloadCluster, that a new claim is rejected if the cluster
// lacks something, and that an existing claim is composed even then.
func TestOnlyNewClaimsRequireReadyWorkloadCluster(t *testing.T) {
	south := func(role string) []*structpb.Struct {
		return []*structpb.Struct{parsed("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: WorkloadCluster, metadata: {name: south}, " +
			"spec: {roles: [storage], allowedNamespaces: [tenant-a]}, status: {observedAt: '2026-05-01T00:00:00Z', roles: [{role: storage, " + role + "}]}}")}
	}
	lacking, ready := south("ready: false, missing: [rook is missing; install it]"), south("ready: true")
	w := newCluster(in("south", ""), clusters)
	if _, _, err := w.Explain(New()); !invalid.Is(err) || !strings.Contains(err.Error(), `cluster "south" is not available`) {
		t.Errorf("without the WorkloadCluster: %v", err)
	}
	w.RequiredResources = lacking
	want := `spec.cluster.ref.name: cluster "south" lacks requirements of the role storage: rook is missing; install it;`
	if _, _, err := w.Explain(New()); !invalid.Is(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a new claim has the error %v, want %s", err, want)
	}
	w.RequiredResources = ready
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if at := wrapper.ProviderConfig(w.Observed[clusterResource]); at != "south" {
		t.Errorf("Ceph is in %q", at)
	}
	before := len(w.Observed)
	w.RequiredResources = lacking
	rsp, _, err := w.Explain(New())
	if err != nil || len(rsp.Composed) != before {
		t.Errorf("an existing claim has the error %v", err)
	}
	// The platform team deletes the WorkloadCluster. The tenant cannot select another one.
	w.RequiredResources = nil
	want = `cluster "south", which is neither a WorkloadCluster nor in clusters of the PlatformConfig; the platform team has to register it again`
	if _, _, err = w.Explain(New()); err == nil || invalid.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("without the WorkloadCluster, an existing claim has the error %v, want %s", err, want)
	}
}
