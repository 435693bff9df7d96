package compute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// TestServerDetails: the properties of servers, the policies of their groups, and the types of their ports.
func TestServerDetails(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	local := compute.Server{ID: "a", Name: "local", Status: "ACTIVE", Task: "migrating"}
	volume := compute.Server{ID: "b", Name: "volume", Status: "SHUTOFF"}
	nova.SetHypervisors(computetest.Hypervisor{Host: "node-1", Servers: []compute.Server{local, volume}, Details: map[string]computetest.Details{
		"a": {
			Metadata: map[string]string{"maintenance": "cold"}, ExtraSpecs: map[string]string{"hw:cpu_policy": "dedicated"},
			ImageProperties: map[string]string{"hw_tpm_version": "2.0"}, MemoryMiB: 2048, DiskGiB: 20, SwapMiB: 1025, Group: "g",
			VNICs: []string{"normal", "direct"},
		},
		"b": {MemoryMiB: 512, DiskGiB: 20, BootsFromVolume: true, ImageProperties: map[string]string{"hw_tpm_version": "2.0"}},
	}}, computetest.Hypervisor{Host: "node-2", Servers: []compute.Server{{ID: "c"}}})
	nova.SetGroups(map[string]string{"g": "anti-affinity"})
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	got, err := api.ListServerDetails(t.Context(), "node-1")
	want := []compute.ServerDetails{
		{
			Server: local, MemoryMiB: 2048, DisksGiB: 22, BootsFromImage: true, ExtraSpecs: map[string]string{"hw:cpu_policy": "dedicated"},
			ImageProperties: map[string]string{"base_image_ref": "i", "hw_tpm_version": "2.0"}, Metadata: map[string]string{"maintenance": "cold"},
			Group: "g",
		},
		{
			Server: volume, MemoryMiB: 512, ExtraSpecs: map[string]string{}, ImageProperties: map[string]string{}, Metadata: map[string]string{},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for group, want := range map[string]string{"g": "anti-affinity", "gone": ""} {
		if got, err := api.GroupPolicy(t.Context(), group); got != want || err != nil {
			t.Errorf("policy of %s: %q, %v", group, got, err)
		}
	}
	vnics, err := api.ListVNICTypes(t.Context(), "node-1")
	if diff := cmp.Diff(map[string][]string{"a": {"normal", "direct"}}, vnics); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	nova.SetDown(true)
	if _, err := api.GroupPolicy(t.Context(), "g"); err == nil || err.Error() != "cannot read server group g: Nova returned HTTP 503" {
		t.Error(err)
	}
	if _, err := api.ListServerDetails(t.Context(), "node-1"); err == nil ||
		err.Error() != "cannot list the servers of node-1: Nova returned HTTP 503" {
		t.Error(err)
	}
}

// TestDuplicateServers: a server that is in two pages is returned once, with its last state.
func TestDuplicateServers(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	last := compute.Server{ID: "a", Status: "SHUTOFF"}
	nova.SetHypervisors(computetest.Hypervisor{Host: "node-1", Servers: []compute.Server{{ID: "a", Status: "ACTIVE"}, {ID: "b"}, last}})
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	servers, err := api.ListServers(t.Context(), "node-1")
	if diff := cmp.Diff([]compute.Server{{ID: "b"}, last}, servers); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	details, err := api.ListServerDetails(t.Context(), "node-1")
	if err != nil || len(details) != 2 || details[1].Server != last {
		t.Errorf("%+v, %v", details, err)
	}
}

// TestHostService: only the record of nova-compute on the host is returned.
func TestHostService(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	own := compute.Service{ID: "1", Binary: compute.Compute, Host: "node-1", Up: true}
	nova.Set(compute.Service{ID: "2", Binary: "nova-conductor", Host: "node-1"}, compute.Service{ID: "3", Binary: compute.Compute, Host: "node-2"}, own)
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	if got, err := api.HostService(t.Context(), "node-1"); err != nil || got == nil || *got != own {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := api.HostService(t.Context(), "node-9"); err != nil || got != nil {
		t.Errorf("a host without a record: %+v, %v", got, err)
	}
	nova.SetCellDown("node-1")
	if got, err := api.HostService(t.Context(), "node-1"); err != nil || got == nil || !got.Unknown {
		t.Errorf("a host of a cell that does not respond: %+v, %v", got, err)
	}
}
