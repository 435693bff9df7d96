package compute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// TestEvacuate: evacuations are rejected while the host is up, keep the power states of servers, and end before the host returns.
func TestEvacuate(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	nova.Set(compute.Service{ID: "1", Binary: compute.Compute, Host: "node-1", Up: true},
		compute.Service{ID: "2", Binary: compute.Compute, Host: "node-2", Up: true})
	nova.SetHypervisors(computetest.Hypervisor{
		Host: "node-1", Servers: []compute.Server{{ID: "a", Name: "A", Status: "ACTIVE"}, {ID: "b", Status: "SHUTOFF"}},
	}, computetest.Hypervisor{Host: "node-2"})
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	ctx := t.Context()
	if err := api.Evacuate(ctx, "a"); !compute.Rejected(err) ||
		err.Error() != "cannot evacuate server a: Nova returned HTTP 400: Compute service of node-1 is still in use." {
		t.Error(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(api.ForceDown(ctx, "node-1"))
	s, err := api.HostService(ctx, "node-1")
	if err != nil || !s.ForcedDown || s.Up {
		t.Errorf("%+v, %v", s, err)
	}
	must(api.Evacuate(ctx, "a"))
	must(api.Evacuate(ctx, "b"))
	nova.End("node-2", "2026-01-01T00:00:00.000000")
	for id, want := range map[string]*compute.Server{
		"a": {ID: "a", Name: "A", Status: "ACTIVE"}, "b": {ID: "b", Status: "SHUTOFF"}, "gone": nil,
	} {
		got, err := api.GetServer(ctx, id)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", id, err, diff)
		}
	}
	migrations, err := api.ListMigrations(ctx, "node-1")
	if err != nil || len(migrations) != 2 || migrations[0].Type != compute.Evacuation || !migrations[0].IsFinished() {
		t.Errorf("%+v, %v", migrations, err)
	}
	if err := api.ForceUp(ctx, *s); !compute.Rejected(err) ||
		err.Error() != "cannot force nova-compute up on node-1: Nova returned HTTP 400: Unable to force up host node-1." {
		t.Error(err)
	}
	nova.CleanUp("node-1")
	must(api.ForceUp(ctx, *s))
	nova.SetDown(true)
	if _, err := api.GetServer(ctx, "a"); err == nil || err.Error() != "cannot read server a: Nova returned HTTP 503" {
		t.Error(err)
	}
}
