package controlplane

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestOnlyNewClaimsRequireReadyWorkloadCluster checks that a control plane selects a WorkloadCluster, and that only a new one is rejected
// if the cluster lacks something.
func TestOnlyNewClaimsRequireReadyWorkloadCluster(t *testing.T) {
	south := func(role string) []*structpb.Struct {
		return []*structpb.Struct{structOf(t, fields(t, "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: WorkloadCluster, metadata: {name: south}, "+
			"spec: {roles: [controlPlane], allowedNamespaces: ['*']}, status: {observedAt: '2026-05-01T00:00:00Z', roles: [{role: controlPlane, "+role+"}]}}"))}
	}
	lacking := south("ready: false, missing: [the cluster has no StorageClass; install one]")
	w := newCluster(t, "{cluster: {ref: {name: south}}}", remote)
	w.RequiredResources = lacking
	want := `cluster "south" lacks requirements of the role controlPlane: the cluster has no StorageClass; install one;`
	if _, _, err := w.Explain(New()); !invalid.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("a new claim has the error %v, want %s", err, want)
	}
	w.RequiredResources = south("ready: true")
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	if at := wrapper.ProviderConfig(w.Observed["database"]); at != "south" {
		t.Errorf("the database is in %q", at)
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

// TestStaysInItsCluster checks that an edit of the provider config of a cluster moves no object of an existing control plane.
func TestStaysInItsCluster(t *testing.T) {
	w := readyCluster(t, "{cluster: {ref: {name: east}}}", remote)
	w.Required = required(t, strings.Replace(remote, "providerConfig: east", "providerConfig: west", 1))
	want := "is in the cluster with the provider config east, and would move to west without its data"
	if _, _, err := w.Explain(New()); err == nil || invalid.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("after the edit, the error is %v, want %s", err, want)
	}
}
