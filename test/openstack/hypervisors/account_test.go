//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// asNode logs in with the credential of the nodes.
func (m *Machines) asNode(t *testing.T) (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	t.Helper()
	ctx := context.Background()
	admin, ends := harness.Administrator(t, m.Cloud)
	login, err := m.Cloud.Operators.Secret(ctx, m.Cloud.Namespace, m.Cloud.Pool().Namespace+"-credential")
	if err != nil {
		t.Fatal(err)
	}
	p, err := openstack.NewClient(admin.IdentityEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.HTTPClient = admin.HTTPClient
	if err := openstack.Authenticate(ctx, p, gophercloud.AuthOptions{
		IdentityEndpoint: admin.IdentityEndpoint, ApplicationCredentialID: string(login["application_credential_id"]),
		ApplicationCredentialSecret: string(login["application_credential_secret"]),
	}); err != nil {
		t.Fatal(err)
	}
	return p, ends
}

// testAccount checks that the credential of a node has no rights of an administrator, even if it is sent as a service token, too, and that
// Nova still shows the floating IP of a server, which nova-compute reads with it.
func testAccount(t *testing.T, m *Machines, g Guest) {
	ctx := context.Background()
	shown, err := servers.Get(ctx, m.ServiceClient, g.Server.ID).Extract()
	if err != nil || !strings.Contains(fmt.Sprint(shown.Addresses), g.Address) {
		t.Errorf("Nova shows the addresses %v (%v), want the floating IP %s", shown, err, g.Address)
	}
	p, ends := m.asNode(t)
	at := func(c *gophercloud.ServiceClient, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c.ResourceBaseURL()
	}
	identity := at(openstack.NewIdentityV3(p, ends))
	compute := at(openstack.NewComputeV2(p, ends))
	image := at(openstack.NewImageV2(p, ends))
	network := at(openstack.NewNetworkV2(p, ends))
	user := map[string]any{"user": map[string]any{"name": "intruder", "password": "x7k2p-x7k2p", "domain_id": "default"}}
	flavor := map[string]any{"flavor": map[string]any{"name": "intruder", "ram": 64, "vcpus": 1, "disk": 0}}
	for name, tc := range map[string]struct {
		method, url string
		body        any
	}{
		"create a user":                {http.MethodPost, identity + "users", user},
		"list users":                   {http.MethodGet, identity + "users", nil},
		"create a role":                {http.MethodPost, identity + "roles", map[string]any{"role": map[string]any{"name": "intruder"}}},
		"change a policy":              {http.MethodPost, identity + "policies", map[string]any{"policy": map[string]any{"blob": "{}", "type": "application/json"}}},
		"list servers of all projects": {http.MethodGet, compute + "servers/detail?all_tenants=1", nil},
		"delete a server":              {http.MethodDelete, compute + "servers/" + g.Server.ID, nil},
		"create a flavor":              {http.MethodPost, compute + "flavors", flavor},
		"list hypervisors":             {http.MethodGet, compute + "os-hypervisors", nil},
		"delete an image":              {http.MethodDelete, image + "images/" + m.Image, nil},
		"delete a network":             {http.MethodDelete, network + "networks/" + g.Port.NetworkID, nil},
		"create a network":             {http.MethodPost, network + "networks", map[string]any{"network": map[string]any{"name": "intruder"}}},
	} {
		for with, headers := range map[string]map[string]string{"as a user": nil, "as a service": {"X-Service-Token": p.Token()}} {
			response, err := p.Request(ctx, tc.method, tc.url, &gophercloud.RequestOpts{
				JSONBody: tc.body, MoreHeaders: headers, KeepResponseBody: true,
				OkCodes: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
			})
			if err != nil {
				t.Errorf("a node can %s %s: %v", name, with, err)
				continue
			}
			_ = response.Body.Close()
			if !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, response.StatusCode) {
				t.Errorf("a node can %s %s: HTTP %d", name, with, response.StatusCode)
			}
		}
	}
}
