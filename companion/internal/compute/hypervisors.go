package compute

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/answer"
)

// Hypervisor is the state of a host in Nova.
type Hypervisor struct {
	// Provider is its resource provider.
	Provider string
	// Servers is the number of servers of all projects, running or not.
	Servers int
}

// ListHypervisors returns all hypervisors by host. Their capacity is not used: Nova ignores dedicated and overcommitted CPUs,
// and returns no numbers from microversion 2.88 on.
// https://docs.openstack.org/api-ref/compute/#hypervisors-os-hypervisors
func (a *API) ListHypervisors(ctx context.Context) (map[string]Hypervisor, error) {
	list, err := answer.List(ctx, "Nova", "list hypervisors",
		hypervisors.List(a.client, hypervisors.ListOpts{WithServers: new(true)}), hypervisors.ExtractHypervisors)
	if err != nil {
		return nil, err
	}
	out := map[string]Hypervisor{}
	for _, h := range list {
		out[h.Service.Host] = Hypervisor{Provider: h.ID, Servers: len(ptr.Deref(h.Servers, nil))}
	}
	return out, nil
}

// Server is a server: its status is ACTIVE while it runs, and Task is the operation in progress, if any.
type Server struct{ ID, Name, Status, Task string }

// ListServers returns the servers of all projects on a host.
func (a *API) ListServers(ctx context.Context, host string) ([]Server, error) {
	list, err := answer.List(ctx, "Nova", "list the servers of "+host,
		servers.List(a.client, servers.ListOpts{Host: host, AllTenants: true}), servers.ExtractServers)
	if err != nil {
		return nil, err
	}
	out := make([]Server, len(list))
	for i, s := range list {
		out[i] = Server{ID: s.ID, Name: s.Name, Status: s.Status, Task: s.TaskState}
	}
	return out, nil
}

// ended are the states of finished migrations: all others prevent Nova from deleting the services of its hosts
// (get_in_progress_by_host_and_node of nova/db/main/api.py).
var ended = []string{"cancelled", "completed", "confirmed", "done", "error", "failed", "reverted"}

// Migration is a migration from or to a host.
type Migration struct {
	Server  string `json:"instance_uuid"`
	Status  string `json:"status"`
	Source  string `json:"source_compute"`
	Created string `json:"created_at"`
}

// IsFinished reports whether the migration is finished.
func (m Migration) IsFinished() bool { return slices.Contains(ended, m.Status) }

// FailedAfter reports whether the migration started at the given time or later and ended without moving the server.
func (m Migration) FailedAfter(t time.Time) bool {
	created, err := time.Parse("2006-01-02T15:04:05", m.Created) // In UTC, possibly with fractional seconds.
	return slices.Contains([]string{"cancelled", "error", "failed"}, m.Status) && err == nil && !created.Before(t.Truncate(time.Second))
}

// ListMigrations returns all recorded migrations from or to a host.
// https://docs.openstack.org/api-ref/compute/#list-migrations
func (a *API) ListMigrations(ctx context.Context, host string) ([]Migration, error) {
	var body struct {
		Migrations []Migration `json:"migrations"`
	}
	address := a.client.ServiceURL("os-migrations") + "?" + url.Values{"host": {host}}.Encode()
	if _, err := a.client.Get(ctx, address, &body, nil); err != nil { //nolint:bodyclose // the client does
		return nil, describeError("list the migrations of "+host, err)
	}
	return body.Migrations, nil
}

// Move starts the live migration of a server, with its local disks if there are any. Nova's scheduler selects the target.
// https://docs.openstack.org/api-ref/compute/#live-migrate-server-os-migratelive-action
func (a *API) Move(ctx context.Context, s Server) error {
	order := map[string]any{"os-migrateLive": map[string]any{"host": nil, "block_migration": "auto"}}
	accepted := &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted}}
	_, err := a.client.Post(ctx, a.client.ServiceURL("servers", s.ID, "action"), order, nil, accepted) //nolint:bodyclose // the client does
	return failure("live-migrate server "+s.ID, err)
}
