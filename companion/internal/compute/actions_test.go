package compute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// TestServerActionsReportRejections: operations on servers, their rejections, the reason of the last failed migration, and the consumers of
// a host.
func TestServerActionsReportRejections(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	nova.SetHypervisors(computetest.Hypervisor{
		Host: "node-1", Provider: "p", Below: []string{"q"}, Consumers: []string{"m"}, Servers: []compute.Server{{ID: "a", Status: "ACTIVE"}},
	}, computetest.Hypervisor{Host: "node-2", Provider: "r"})
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		nova.End("node-2", "2026-01-01T00:00:00.000000")
	}
	consumers, err := api.Consumers(t.Context(), "p")
	if diff := cmp.Diff([]string{"a", "m"}, consumers); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	do(api.Stop(t.Context(), "a"))
	do(api.Migrate(t.Context(), "a"))
	if consumers, err = api.Consumers(t.Context(), "p"); err != nil || !cmp.Equal([]string{"m", "migration-of-a"}, consumers) {
		t.Errorf("before the confirmation: %v, %v", consumers, err)
	}
	do(api.Confirm(t.Context(), "a"))
	if consumers, err = api.Consumers(t.Context(), "p"); err != nil || !cmp.Equal([]string{"m"}, consumers) {
		t.Errorf("after the confirmation: %v, %v", consumers, err)
	}
	do(api.Start(t.Context(), "a"))
	want := []string{"os-stop a", "migrate a", "confirmResize a", "os-start a"}
	if diff := cmp.Diff(want, nova.Actions()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := api.Start(t.Context(), "a"); !compute.Rejected(err) ||
		err.Error() != "cannot start server a: Nova returned HTTP 409: Cannot 'os-start' instance a while it is so." {
		t.Error(err)
	}
	for _, message := range []string{"", "No valid host was found."} {
		nova.FailMoves("a", message)
		if got, err := api.MoveFailure(t.Context(), "a"); got != message || err != nil {
			t.Errorf("%q, %v, want %q", got, err, message)
		}
	}
}

// TestMaintainedBy: the reason in Nova identifies the controller that disabled the service.
func TestMaintainedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		s        compute.Service
		by       string
		cordoned bool
	}{
		"enabled":     {s: compute.Service{Reason: compute.MaintenanceReason + "a"}},
		"maintenance": {s: compute.Service{Disabled: true, Reason: compute.MaintenanceReason + "a"}, by: "a"},
		"cordon":      {s: compute.Service{Disabled: true, Reason: compute.CordonReason + "2026"}, cordoned: true},
		"user":        {s: compute.Service{Disabled: true, Reason: "broken fan"}},
	} {
		if by, cordoned := tc.s.MaintainedBy(), tc.s.Cordoned(); by != tc.by || cordoned != tc.cordoned {
			t.Errorf("%s: %q, %v", name, by, cordoned)
		}
	}
}
