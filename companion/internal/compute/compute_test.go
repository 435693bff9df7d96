package compute_test

import (
	"errors"
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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/crash"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const password = "correct-horse-battery"

func find(t *testing.T, nova *computetest.Nova, secrets ...client.Object) (*compute.API, string) {
	t.Helper()
	reader := crash.NewServer(clientgoscheme.Scheme, nil, secrets...)
	ref := common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	api, problem, err := compute.Find(t.Context(), reader, func([]byte) (http.RoundTripper, error) { return nova, nil }, "cloud", ref)
	if err != nil {
		t.Fatal(err)
	}
	return api, problem
}

// TestAPI: what is asked and removed, and what Nova says when it does not want to.
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
	for range 2 { // The second time it is gone.
		if err := api.Delete(t.Context(), "2"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]compute.Service{up}, nova.Services()); diff != "" {
		t.Error(diff)
	}
	nova.Refuse("Policy doesn't allow os_compute_api:os-services:list to be performed.")
	if _, err := api.Services(t.Context(), ""); err == nil ||
		err.Error() != "cannot list compute services: Nova answers 403: Policy doesn't allow os_compute_api:os-services:list to be performed." {
		t.Error(err)
	}
	nova.SetDown(true)
	if err := api.Delete(t.Context(), "1"); err == nil || err.Error() != "cannot remove the record of compute service 1: Nova answers 503" {
		t.Error(err)
	}
}

// TestFind: what keeps it from Nova is said.
func TestFind(t *testing.T) {
	keystone := identitytest.New(map[string]string{"admin": password})
	nova := &computetest.Nova{Keystone: keystone} // It is not in the catalog.
	clouds := identitytest.Clouds("cloud", "clouds", password)
	elsewhere := identitytest.Clouds("cloud", "clouds", password)
	elsewhere.Data["clouds.yaml"] = append(elsewhere.Data["clouds.yaml"], "    region_name: elsewhere\n"...)
	wrong := identitytest.Clouds("cloud", "clouds", "another")
	for _, tc := range []struct {
		reason string
		secret *corev1.Secret
		enter  bool
		want   string
	}{
		{reason: "It has not come yet.", want: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		{reason: "Keystone says no.", secret: wrong, want: "cannot log in as user admin"},
		{reason: "Nova is not there yet.", secret: clouds, want: "cannot find service compute: Keystone's catalog has no internal endpoint of that type"},
		{reason: "It is in another region.", secret: elsewhere, enter: true, want: "no internal endpoint of that type in region elsewhere"},
	} {
		if tc.enter {
			keystone.SetEndpoint("compute", "https://nova.cloud.svc:8774/v2.1")
		}
		var there []client.Object
		if tc.secret != nil {
			there = append(there, tc.secret)
		}
		if api, problem := find(t, nova, there...); api != nil || !strings.Contains(problem, tc.want) {
			t.Errorf("%s %q, want %q", tc.reason, problem, tc.want)
		}
	}
}

// TestNeighbours: what Nova's neighbours have of a hypervisor, and how they say no.
func TestNeighbours(t *testing.T) {
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
	if said := "cannot remove resource provider name of root: Placement answers 409: Unable to delete resource provider root: Resource provider " +
		"has allocations."; err == nil || err.Error() != said || !compute.Refused(err) {
		t.Error(err)
	}
	agents, err := api.Agents(t.Context())
	if diff := cmp.Diff([]compute.Agent{agent}, agents); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for range 2 { // The second time it is gone.
		if err := errors.Join(api.DeleteAgent(t.Context(), "node-1"), api.DeleteProvider(t.Context(), tree[0])); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"provider root", "provider b"}, nova.Remains("node-1")); diff != "" {
		t.Error(diff)
	}
}
