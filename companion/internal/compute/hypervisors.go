package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// Providers are the resource providers of hypervisors, by their hosts.
// https://docs.openstack.org/api-ref/compute/#hypervisors-os-hypervisors
func (a *API) Providers(ctx context.Context) (map[string]string, error) {
	pages, err := hypervisors.List(a.client, hypervisors.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, explain("list hypervisors", err)
	}
	list, err := hypervisors.ExtractHypervisors(pages)
	if err != nil {
		return nil, errors.New("cannot list hypervisors: Nova's answer is none")
	}
	out := map[string]string{}
	for _, h := range list {
		out[h.Service.Host] = h.ID
	}
	return out, nil
}

// Server is a virtual machine.
type Server struct{ ID, Name string }

// ServersOn are the virtual machines of a host, whoever's they are.
func (a *API) ServersOn(ctx context.Context, host string) ([]Server, error) {
	pages, err := servers.ListSimple(a.client, servers.ListOpts{Host: host, AllTenants: true}).AllPages(ctx)
	if err != nil {
		return nil, explain("list the virtual machines of "+host, err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, fmt.Errorf("cannot list the virtual machines of %s: Nova's answer is none", host)
	}
	out := make([]Server, len(list))
	for i, s := range list {
		out[i] = Server{ID: s.ID, Name: s.Name}
	}
	return out, nil
}

// ended are the states of a migration of which nothing is left to do: all others keep Nova from deleting the services of its hosts
// (get_in_progress_by_host_and_node of nova/db/main/api.py).
var ended = []string{"cancelled", "completed", "confirmed", "done", "error", "failed", "reverted"}

// Migrating is how many migrations to or from a host are under way, or wait to be confirmed.
// https://docs.openstack.org/api-ref/compute/#list-migrations
func (a *API) Migrating(ctx context.Context, host string) (int, error) {
	var body struct {
		Migrations []struct {
			Status string `json:"status"`
		} `json:"migrations"`
	}
	answer, err := a.client.Get(ctx, a.client.ServiceURL("os-migrations")+"?"+url.Values{"host": {host}}.Encode(), &body, &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK},
	})
	if _, _, err := gophercloud.ParseResponse(answer, err); err != nil {
		return 0, explain("list the migrations of "+host, err)
	}
	out := 0
	for _, m := range body.Migrations {
		if !slices.Contains(ended, m.Status) {
			out++
		}
	}
	return out, nil
}
