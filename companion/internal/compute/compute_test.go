package compute_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const password = "correct-horse-battery"

func find(t *testing.T, nova *computetest.Nova, secrets ...client.Object) (*compute.API, string) {
	t.Helper()
	return findBy(t, nova, secrets...)
}

func findBy(t *testing.T, nova http.RoundTripper, secrets ...client.Object) (*compute.API, string) {
	t.Helper()
	reader := faultinjection.NewServer(clientgoscheme.Scheme, nil, secrets...)
	ref := common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	api, problem, err := compute.Find(t.Context(), reader, func([]byte) (http.RoundTripper, error) { return nova, nil }, "cloud", ref)
	if err != nil {
		t.Fatal(err)
	}
	return api, problem
}

// TestAPI: requests and deletions, and the messages of Nova's errors.
func TestAPI(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	up := compute.Service{ID: "1", Binary: "nova-conductor", Host: "nova-conductor-0", Up: true}
	down := compute.Service{ID: "2", Binary: "nova-compute", Host: "compute-0"}
	nova.Set(up, down)
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	for binary, want := range map[string][]compute.Service{"": {up, down}, "nova-compute": {down}, "nova-scheduler": {}} {
		got, err := api.Services(t.Context(), binary)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", binary, err, diff)
		}
	}
	for range 2 { // The second time it is missing.
		if err := api.Delete(t.Context(), "2"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]compute.Service{up}, nova.Services()); diff != "" {
		t.Error(diff)
	}
	nova.FailRequests("Policy doesn't allow os_compute_api:os-services:list to be performed.")
	if _, err := api.Services(t.Context(), ""); err == nil ||
		err.Error() != "cannot list compute services: Nova returned HTTP 403: Policy doesn't allow os_compute_api:os-services:list to be "+
			"performed." {
		t.Error(err)
	}
	nova.SetDown(true)
	if err := api.Delete(t.Context(), "1"); err == nil || err.Error() != "cannot remove the record of compute service 1: Nova returned "+
		"HTTP 503" {
		t.Error(err)
	}
}

// TestListsServicesOfUnavailableCellAsUnknown: hypervisors of a cell whose database does not respond are listed, and are not treated as
// missing.
func TestListsServicesOfUnavailableCellAsUnknown(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	up := compute.Service{ID: "1", Binary: compute.Compute, Host: "node-1", Up: true}
	conductor := compute.Service{ID: "3", Binary: "nova-conductor", Host: "conductor-0", Up: true}
	nova.Set(up, compute.Service{ID: "2", Binary: compute.Compute, Host: "node-2", Up: true}, conductor)
	nova.SetCellDown("node-2", "conductor-0")
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	for _, binary := range []string{"", compute.Compute} {
		got, err := api.Services(t.Context(), binary)
		want := []compute.Service{up, {Binary: compute.Compute, Host: "node-2", Unknown: true}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// TestFind: the reason is returned if Nova cannot be found.
func TestFind(t *testing.T) {
	keystone := identitytest.New(map[string]string{"admin": password})
	nova := &computetest.Nova{Keystone: keystone} // It is not in the catalog.
	clouds := identitytest.Clouds("cloud", "clouds", password)
	external := identitytest.Clouds("cloud", "clouds", password)
	external.Data["clouds.yaml"] = append(external.Data["clouds.yaml"], "    region_name: external\n"...)
	wrong := identitytest.Clouds("cloud", "clouds", "another")
	for _, tc := range []struct {
		reason string
		secret *corev1.Secret
		enter  bool
		want   string
	}{
		{reason: "It does not exist yet.", want: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		{reason: "Keystone rejects the login.", secret: wrong, want: "cannot log in as user admin"},
		{reason: "Nova is not in the catalog yet.", secret: clouds,
			want: "cannot find service compute: Keystone's catalog has no internal endpoint " +
				"of that type"},
		{reason: "It is in another region.", secret: external, enter: true, want: "no internal endpoint of that type in region external"},
	} {
		if tc.enter {
			keystone.SetEndpoint("compute", "https://nova.cloud.svc:8774/v2.1")
		}
		var existing []client.Object
		if tc.secret != nil {
			existing = append(existing, tc.secret)
		}
		if api, problem := find(t, nova, existing...); api != nil || !strings.Contains(problem, tc.want) {
			t.Errorf("%s %q, want %q", tc.reason, problem, tc.want)
		}
	}
}

// TestListsRecordsOfHypervisor: the records of a hypervisor in other services, and their errors.
func TestListsRecordsOfHypervisor(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	nova.SetHypervisors(computetest.Hypervisor{Host: "node-1", Provider: "root", Below: []string{"a", "b"}, Consumers: []string{"c"}})
	agent := compute.Agent{ID: "node-1", Type: "OVN Controller agent", Host: "node-1"}
	nova.SetAgents(agent)
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	tree, err := api.Tree(t.Context(), "root")
	want := []compute.Provider{{ID: "a", Name: "name of a"}, {ID: "b", Name: "name of b"}, {ID: "root", Name: "name of root", Consumers: 1}}
	if diff := cmp.Diff(want, tree); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if none, err := api.Tree(t.Context(), "another"); len(none) > 0 || err != nil {
		t.Error(none, err)
	}
	err = api.DeleteProvider(t.Context(), tree[2])
	if requested := "cannot remove resource provider name of root: Placement returned HTTP 409: Unable to delete resource provider root: " +
		"Resource provider " +
		"has allocations."; err == nil || err.Error() != requested || !compute.Rejected(err) {
		t.Error(err)
	}
	agents, err := api.ListAgents(t.Context())
	if diff := cmp.Diff([]compute.Agent{agent}, agents); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for host, want := range map[string][]compute.Agent{"node-1": {agent}, "node-2": nil} {
		if got, err := api.ListHostAgents(t.Context(), host); !cmp.Equal(want, got) || err != nil {
			t.Errorf("agents on %s: %v, %v", host, got, err)
		}
	}
	for range 2 { // The second time it is missing.
		if err := errors.Join(api.DeleteAgent(t.Context(), "node-1"), api.DeleteProvider(t.Context(), tree[0])); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"provider root", "provider b"}, nova.Leftovers("node-1")); diff != "" {
		t.Error(diff)
	}
}

// TestReportsServersAndFreeCapacity: the number of servers, and the free capacity in Placement.
func TestReportsServersAndFreeCapacity(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	nova.SetHypervisors(
		computetest.Hypervisor{Host: "node-1", Provider: "a", Servers: []compute.Server{{ID: "1"}, {ID: "2", Status: "SHUTOFF"}}},
		computetest.Hypervisor{Host: "node-2", Provider: "b"},
	)
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	got, err := api.ListHypervisors(t.Context())
	want := map[string]compute.Hypervisor{"node-1": {Provider: "a", Servers: 2}, "node-2": {Provider: "b"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	of := func(total, reserved, used int, ratio float64) computetest.Inventory {
		return computetest.Inventory{Total: total, Reserved: reserved, Used: used, Ratio: ratio}
	}
	for name, tc := range map[string]struct {
		reason string
		has    map[string]computetest.Inventory
		want   compute.Capacity
	}{
		"None": {reason: "It has registered without inventories."},
		"Plain": {"One server uses one CPU.", map[string]computetest.Inventory{"VCPU": of(8, 0, 3, 1), "MEMORY_MB": of(4096, 0, 512, 1)},
			compute.Capacity{VCPU: 8, FreeVCPU: 5, MemoryMiB: 4096, FreeMemoryMiB: 3584, Allocated: true}},
		"Reserved": {"Reserved amounts are not allocatable.", map[string]computetest.Inventory{"VCPU": of(8, 2, 0, 4), "MEMORY_MB": of(4096,
			512, 0, 1.5)}, compute.Capacity{VCPU: 24, FreeVCPU: 24, MemoryMiB: 5376, FreeMemoryMiB: 5376}},
		"Own": {"Some CPUs are shared, and others are dedicated.", map[string]computetest.Inventory{"VCPU": of(4, 0, 1, 2),
			"PCPU": of(6, 0, 4, 1)}, compute.Capacity{VCPU: 14, FreeVCPU: 9, Allocated: true}},
		"Decimal": {"0.7 of 10 is 7, also in 32 bits.", map[string]computetest.Inventory{"VCPU": of(10, 0, 0, 0.7)}, compute.Capacity{VCPU: 7,
			FreeVCPU: 7}},
		"Less": {"More is allocated than the current total: the free amount is 0.", map[string]computetest.Inventory{"VCPU": of(4,
			0, 12, 2)}, compute.Capacity{VCPU: 8, Allocated: true}},
		"All": {"More is reserved than exists.", map[string]computetest.Inventory{"MEMORY_MB": of(512, 1024, 0, 1)}, compute.Capacity{}},
		"Others": {"Disks and devices are not CPUs.", map[string]computetest.Inventory{"DISK_GB": of(100, 0, 0, 1), "CUSTOM_GPU": of(2,
			0, 0, 1)}, compute.Capacity{}},
		"Device": {"An allocation of a device is one, too.", map[string]computetest.Inventory{"CUSTOM_GPU": of(2, 0, 1, 1)},
			compute.Capacity{Allocated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			nova.SetHypervisors(computetest.Hypervisor{Host: "node-1", Provider: "a", Inventories: tc.has})
			got, err := api.Capacity(t.Context(), "a")
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
	if got, err := api.Capacity(t.Context(), "another"); got != (compute.Capacity{}) || err != nil {
		t.Errorf("of a provider that is not there: %+v, %v", got, err)
	}
	nova.SetDown(true)
	if _, err := api.ListHypervisors(t.Context()); err == nil || err.Error() != "cannot list hypervisors: Nova returned HTTP 503" {
		t.Error(err)
	}
}

// counted counts the requests to a path.
type counted struct {
	http.RoundTripper

	path  string
	count int
}

// RoundTrip serves a request.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, c.path) {
		c.count++
	}
	return c.RoundTripper.RoundTrip(r)
}

// TestListsHypervisorsOfAllPages: all pages are read, although their links have the public address, and a page that fails is a failure.
func TestListsHypervisorsOfAllPages(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	var all []computetest.Hypervisor
	want := map[string]compute.Hypervisor{}
	for i := range 401 {
		host := fmt.Sprintf("node-%d", i)
		all = append(all, computetest.Hypervisor{Host: host, Provider: "rp-" + host, Servers: []compute.Server{{ID: host}}})
		want[host] = compute.Hypervisor{Provider: "rp-" + host, Servers: 1}
	}
	nova.SetHypervisors(all...)
	requests := &counted{RoundTripper: nova, path: "/os-hypervisors/detail"}
	api, problem := findBy(t, requests, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	got, err := api.ListHypervisors(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil || requests.count != 3 {
		t.Errorf("%d requests, %v (-want +got):\n%s", requests.count, err, diff)
	}
	api, _ = findBy(t, secondPageFails{nova}, identitytest.Clouds("cloud", "clouds", password))
	got, err = api.ListHypervisors(t.Context())
	if got != nil || err == nil || err.Error() != "cannot list hypervisors: Nova returned HTTP 503" {
		t.Errorf("%d hypervisors, %v", len(got), err)
	}
}

// secondPageFails is Nova that does not return the second page of hypervisors.
type secondPageFails struct{ *computetest.Nova }

// RoundTrip serves a request.
func (s secondPageFails) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("marker") != "" {
		return identitytest.Answer(r, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	}
	return s.Nova.RoundTrip(r)
}

// TestListCapacities: one request returns the capacity of all providers with free memory, as Capacity does for each.
func TestListCapacities(t *testing.T) {
	nova := computetest.New(identitytest.New(map[string]string{"admin": password}))
	of := func(total, reserved, used int, ratio float64) computetest.Inventory {
		return computetest.Inventory{Total: total, Reserved: reserved, Used: used, Ratio: ratio}
	}
	nova.SetHypervisors(
		computetest.Hypervisor{Provider: "both", Inventories: map[string]computetest.Inventory{
			"VCPU": of(4, 0, 1, 2), "PCPU": of(6, 0, 4, 1), "MEMORY_MB": of(4096, 512, 1024, 1), "DISK_GB": of(100, 0, 0, 1),
		}},
		computetest.Hypervisor{Provider: "no processors", Inventories: map[string]computetest.Inventory{
			"VCPU": of(4, 0, 12, 2), "MEMORY_MB": of(4096, 0, 1024, 1),
		}},
		computetest.Hypervisor{Provider: "no memory", Inventories: map[string]computetest.Inventory{
			"VCPU": of(8, 0, 1, 1), "MEMORY_MB": of(4096, 0, 4096, 1),
		}},
		computetest.Hypervisor{Provider: "no inventories"},
	)
	api, problem := find(t, nova, identitytest.Clouds("cloud", "clouds", password))
	if problem != "" {
		t.Fatal(problem)
	}
	got, err := api.ListCapacities(t.Context())
	want := map[string]compute.Capacity{
		"both":          {VCPU: 14, FreeVCPU: 9, MemoryMiB: 3584, FreeMemoryMiB: 2560, Allocated: true},
		"no processors": {VCPU: 8, MemoryMiB: 4096, FreeMemoryMiB: 3072, Allocated: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for provider, want := range want {
		if got, err := api.Capacity(t.Context(), provider); got != want || err != nil {
			t.Errorf("alone: %+v, %v, want %+v", got, err, want)
		}
	}
	nova.SetPlacementDown(true)
	if _, err := api.ListCapacities(t.Context()); err == nil ||
		err.Error() != "cannot list allocation candidates: Placement returned HTTP 503" {
		t.Error(err)
	}
}
