package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"k8s.io/utils/ptr"
)

// Hypervisor is what Nova has of a host.
type Hypervisor struct {
	// Provider is its resource provider.
	Provider string
	// Servers is how many virtual machines are on it, whoever's they are, and whether they run or not.
	Servers int
}

// ListHypervisors are all of them, by their hosts. What they have room for, Nova does not know: it counts processors without those that are
// kept for some virtual machines and those that are promised more than once, and says no numbers at all from microversion 2.88 on.
// https://docs.openstack.org/api-ref/compute/#hypervisors-os-hypervisors
func (a *API) ListHypervisors(ctx context.Context) (map[string]Hypervisor, error) {
	pages, err := hypervisors.List(a.client, hypervisors.ListOpts{WithServers: new(true)}).AllPages(ctx)
	if err != nil {
		return nil, describeError("list hypervisors", err)
	}
	list, err := hypervisors.ExtractHypervisors(pages)
	if err != nil {
		return nil, errors.New("cannot list hypervisors: Nova's answer is none")
	}
	out := map[string]Hypervisor{}
	for _, h := range list {
		out[h.Service.Host] = Hypervisor{Provider: h.ID, Servers: len(ptr.Deref(h.Servers, nil))}
	}
	return out, nil
}

// Server is a virtual machine: its status is ACTIVE while it runs, and its task what is being done with it, if anything is.
type Server struct{ ID, Name, Status, Task string }

// ListServers are the virtual machines of a host, whoever's they are.
func (a *API) ListServers(ctx context.Context, host string) ([]Server, error) {
	pages, err := servers.List(a.client, servers.ListOpts{Host: host, AllTenants: true}).AllPages(ctx)
	if err != nil {
		return nil, describeError("list the virtual machines of "+host, err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, fmt.Errorf("cannot list the virtual machines of %s: Nova's answer is none", host)
	}
	out := make([]Server, len(list))
	for i, s := range list {
		out[i] = Server{ID: s.ID, Name: s.Name, Status: s.Status, Task: s.TaskState}
	}
	return out, nil
}

// ended are the states of a migration of which nothing is left to do: all others keep Nova from deleting the services of its hosts
// (get_in_progress_by_host_and_node of nova/db/main/api.py).
var ended = []string{"cancelled", "completed", "confirmed", "done", "error", "failed", "reverted"}

// Migration is one from a host or to it.
type Migration struct {
	Server  string `json:"instance_uuid"`
	Status  string `json:"status"`
	Source  string `json:"source_compute"`
	Created string `json:"created_at"`
}

// IsFinished says that nothing is left to do.
func (m Migration) IsFinished() bool { return slices.Contains(ended, m.Status) }

// FailedAfter says that it ended without the virtual machine having moved, and was begun at a time or after.
func (m Migration) FailedAfter(t time.Time) bool {
	created, err := time.Parse("2006-01-02T15:04:05", m.Created) // It may have fractions of seconds, and is in UTC.
	return slices.Contains([]string{"cancelled", "error", "failed"}, m.Status) && err == nil && !created.Before(t.Truncate(time.Second))
}

// ListMigrations are all from or to a host that Nova remembers.
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

// Move orders the live migration of a virtual machine, with its disk where that is its host's own. Nova's scheduler finds another host.
// https://docs.openstack.org/api-ref/compute/#live-migrate-server-os-migratelive-action
func (a *API) Move(ctx context.Context, s Server) error {
	order := map[string]any{"os-migrateLive": map[string]any{"host": nil, "block_migration": "auto"}}
	accepted := &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted}}
	_, err := a.client.Post(ctx, a.client.ServiceURL("servers", s.ID, "action"), order, nil, accepted) //nolint:bodyclose // the client does
	return failure("move virtual machine "+s.ID, err)
}
