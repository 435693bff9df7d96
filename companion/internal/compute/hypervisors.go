package compute

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// Hypervisor is the state of a host in Nova.
type Hypervisor struct {
	// Provider is its resource provider.
	Provider string
	// Servers is the number of servers of all projects, running or not.
	Servers int
}

// hypervisorsPerPage is the number of hypervisors that one request returns. Nova queries the service and the servers of each, so that a
// page of 1,000, Nova's maximum, can take longer than the timeout of a request.
const hypervisorsPerPage = "200"

// ListHypervisors returns all hypervisors by host. Nova reads the databases of all cells, one after the other, and the request fails if one
// of them does not respond. Their capacity is not used: Nova ignores dedicated and overcommitted CPUs,
// and returns no numbers from microversion 2.88 on.
// https://docs.openstack.org/api-ref/compute/#hypervisors-os-hypervisors
func (a *API) ListHypervisors(ctx context.Context) (map[string]Hypervisor, error) {
	type hypervisor struct {
		ID      string `json:"id"`
		Service struct {
			Host string `json:"host"`
		} `json:"service"`
		Servers []struct{} `json:"servers"`
	}
	out := map[string]Hypervisor{}
	query := url.Values{"with_servers": {"true"}, "limit": {hypervisorsPerPage}}
	first := a.client.ServiceURL("os-hypervisors", "detail") + "?" + query.Encode()
	list := openstackapi.Pages{Client: a.client, First: first, Key: "hypervisors"}
	err := openstackapi.Each(ctx, "Nova", "list hypervisors", list, func(_ string, h hypervisor) {
		out[h.Service.Host] = Hypervisor{Provider: h.ID, Servers: len(h.Servers)}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CountServers returns the number of servers on a hypervisor, without access to other cells. Nova's list of hypervisors fails while the
// database of any cell does not respond. It is the number of consumers in Placement, including migrations, but at least the number of
// projects with servers in the cell of the host: 0 means that both have none.
// https://docs.openstack.org/api-ref/compute/#show-host-details
func (a *API) CountServers(ctx context.Context, host, provider string) (int, error) {
	var body struct {
		Host []struct {
			Resource struct {
				Project string `json:"project"`
			} `json:"resource"`
		} `json:"host"`
	}
	client := a.ofHost()
	_, err := client.Get(ctx, client.ServiceURL("os-hosts", host), &body, nil) //nolint:bodyclose // the client does
	if err != nil {
		return 0, describeError("count the servers of "+host, err)
	}
	if len(body.Host) == 0 {
		return 0, fmt.Errorf("cannot count the servers of %s: Nova returned an invalid response", host)
	}
	projects := 0
	for _, h := range body.Host {
		if !strings.HasPrefix(h.Resource.Project, "(") { // (total), (used_now) and (used_max) are sums.
			projects++
		}
	}
	placement, err := a.placement()
	if err != nil {
		return 0, err
	}
	has, err := resourceproviders.GetAllocations(ctx, placement, provider).Extract()
	if err != nil {
		return 0, describeErrorFrom("Placement", "list allocations of resource provider "+provider, err)
	}
	return max(projects, len(has.Allocations)), nil
}

// Server is a server: its status is ACTIVE while it runs, and Task is the operation in progress, if any.
type Server struct{ ID, Name, Status, Task string }

// ListServers returns the servers of all projects on a host.
func (a *API) ListServers(ctx context.Context, host string) ([]Server, error) {
	type server struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Status string `json:"status"`
		Task   string `json:"OS-EXT-STS:task_state"`
	}
	out := []Server{}
	query := url.Values{"all_tenants": {"true"}, "host": {host}}
	list := openstackapi.Pages{Client: a.client, First: a.client.ServiceURL("servers", "detail") + "?" + query.Encode(), Key: "servers"}
	err := openstackapi.Each(ctx, "Nova", "list the servers of "+host, list, func(_ string, s server) { out = append(out, Server(s)) })
	if err != nil {
		return nil, err
	}
	return compact(out, func(s Server) string { return s.ID }), nil
}

// compact removes duplicates: a server that is created or changed between the requests for two pages can be in both. The last one is
// retained.
func compact[T any](all []T, id func(T) string) []T {
	last := map[string]int{}
	for i, s := range all {
		last[id(s)] = i
	}
	out := []T{}
	for i, s := range all {
		if last[id(s)] == i {
			out = append(out, s)
		}
	}
	return out
}

// ended are the states of finished migrations: all others prevent Nova from deleting the services of its hosts
// (get_in_progress_by_host_and_node of nova/db/main/api.py).
var ended = []string{"cancelled", "completed", "confirmed", "done", "error", "failed", "reverted"}

// Migration is a migration from or to a host.
type Migration struct {
	Server  string `json:"instance_uuid"`
	Status  string `json:"status"`
	Type    string `json:"migration_type"`
	Source  string `json:"source_compute"`
	Target  string `json:"dest_compute"`
	Created string `json:"created_at"`
	Updated string `json:"updated_at"`
}

// IsFinished reports whether the migration is finished.
func (m Migration) IsFinished() bool { return slices.Contains(ended, m.Status) }

// HasFailed reports whether the migration ended without moving the server.
func (m Migration) HasFailed() bool {
	return slices.Contains([]string{"cancelled", "error", "failed"}, m.Status)
}

// FailedAfter reports whether the migration started at the given time or later and ended without moving the server.
func (m Migration) FailedAfter(t time.Time) bool {
	created, err := time.Parse(timeLayout, m.Created)
	return m.HasFailed() && err == nil && !created.Before(t.Truncate(time.Second))
}

// ListMigrations returns all recorded migrations from or to a host, except for those in a cell whose database does not respond.
// https://docs.openstack.org/api-ref/compute/#list-migrations
func (a *API) ListMigrations(ctx context.Context, host string) ([]Migration, error) {
	client := *a.client
	client.Microversion = migrationsMicroversion
	out := []Migration{}
	list := openstackapi.Pages{
		Client: &client, First: client.ServiceURL("os-migrations") + "?" + url.Values{"host": {host}}.Encode(), Key: "migrations",
	}
	err := openstackapi.Each(ctx, "Nova", "list the migrations of "+host, list, func(_ string, m Migration) { out = append(out, m) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Move starts the live migration of a server, with its local disks if there are any. Nova's scheduler selects the target.
// https://docs.openstack.org/api-ref/compute/#live-migrate-server-os-migratelive-action
func (a *API) Move(ctx context.Context, s Server) error {
	request := map[string]any{"os-migrateLive": map[string]any{"host": nil, "block_migration": "auto"}}
	return a.act(ctx, "live-migrate", s.ID, request, http.StatusAccepted)
}
