package compute

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// ColdMigration is the type of the migrations that Migrate starts. A resize has another one.
const ColdMigration = "migration"

// Evacuation is the type of the migrations that Evacuate starts.
const Evacuation = "evacuation"

// act requests an operation on a server. Nova sets its task before it responds, and rejects a second request until the operation has ended,
// except for an evacuation.
func (a *API) act(ctx context.Context, description, id string, request map[string]any, codes ...int) error {
	options := &gophercloud.RequestOpts{OkCodes: codes}
	_, err := a.client.Post(ctx, a.client.ServiceURL("servers", id, "action"), request, nil, options) //nolint:bodyclose // the client does
	return failure(description+" server "+id, err)
}

// Migrate starts the cold migration of a server. Nova's scheduler selects the target. The migration waits for Confirm.
// https://docs.openstack.org/api-ref/compute/#migrate-server-migrate-action
func (a *API) Migrate(ctx context.Context, id string) error {
	return a.act(ctx, "cold-migrate", id, map[string]any{"migrate": nil}, http.StatusAccepted)
}

// Confirm completes the cold migration of a server: its data on the source is deleted.
// https://docs.openstack.org/api-ref/compute/#confirm-resized-server-confirmresize-action
func (a *API) Confirm(ctx context.Context, id string) error {
	return a.act(ctx, "confirm the migration of", id, map[string]any{"confirmResize": nil}, http.StatusNoContent)
}

// Stop shuts a server down.
// https://docs.openstack.org/api-ref/compute/#stop-server-os-stop-action
func (a *API) Stop(ctx context.Context, id string) error {
	return a.act(ctx, "stop", id, map[string]any{"os-stop": nil}, http.StatusAccepted)
}

// Start starts a stopped server.
// https://docs.openstack.org/api-ref/compute/#start-server-os-start-action
func (a *API) Start(ctx context.Context, id string) error {
	return a.act(ctx, "start", id, map[string]any{"os-start": nil}, http.StatusAccepted)
}

// Evacuate starts a server of a failed host on another one. Nova's scheduler selects it, and rejects the request while the host is up. The
// server returns to its earlier power state: from microversion 2.95 on, Nova leaves it stopped, and documents earlier ones for this.
// Nova accepts a second request while the first one is executed (evacuate of nova/compute/api.py has task_state=None), and starts the
// server twice: the caller must know that there is no other request.
// https://docs.openstack.org/api-ref/compute/#evacuate-server-evacuate-action
func (a *API) Evacuate(ctx context.Context, id string) error {
	return a.act(ctx, "evacuate", id, map[string]any{"evacuate": map[string]any{}}, http.StatusOK)
}

// GetServer returns a server; nil if it does not exist.
func (a *API) GetServer(ctx context.Context, id string) (*Server, error) {
	server, _, err := a.FindServer(ctx, id)
	return server, err
}

// FindServer returns a server and its host; nil if it does not exist.
// https://docs.openstack.org/api-ref/compute/#show-server-details
func (a *API) FindServer(ctx context.Context, id string) (server *Server, host string, err error) {
	var body struct {
		Server struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Status string `json:"status"`
			Task   string `json:"OS-EXT-STS:task_state"`
			Host   string `json:"OS-EXT-SRV-ATTR:host"`
		} `json:"server"`
	}
	_, err = a.client.Get(ctx, a.client.ServiceURL("servers", id), &body, nil) //nolint:bodyclose // the client does
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", describeError("read server "+id, err)
	}
	s := &body.Server
	return &Server{ID: s.ID, Name: s.Name, Status: s.Status, Task: s.Task}, s.Host, nil
}

// MoveFailure returns why the last migration of a server failed; "" if Nova has no message. For example, the scheduler found no host: Nova
// accepts the request before it schedules.
// https://docs.openstack.org/api-ref/compute/#servers-actions-servers-os-instance-actions
func (a *API) MoveFailure(ctx context.Context, id string) (string, error) {
	type action struct {
		Action  string `json:"action"`
		Request string `json:"request_id"`
		Message string `json:"message"`
		Started string `json:"start_time"`
	}
	client := a.withMicroversion(detailsMicroversion)
	var last action
	list := openstackapi.Pages{Client: client, First: client.ServiceURL("servers", id, "os-instance-actions"), Key: "instanceActions"}
	err := openstackapi.Each(ctx, "Nova", "list the actions of server "+id, list, func(_ string, o action) {
		if slices.Contains([]string{"live-migration", "migrate"}, o.Action) && o.Message != "" && o.Started > last.Started {
			last = o
		}
	})
	if err != nil || last.Request == "" {
		return "", err
	}
	var body struct {
		Action struct {
			Events []struct {
				Details string `json:"details"`
			} `json:"events"`
		} `json:"instanceAction"`
	}
	_, err = client.Get(ctx, client.ServiceURL("servers", id, "os-instance-actions", last.Request), &body, nil) //nolint:bodyclose // as above
	if err != nil {
		return "", describeError("read an action of server "+id, err)
	}
	for _, e := range body.Action.Events {
		if e.Details != "" {
			return strings.ReplaceAll(strings.TrimSpace(e.Details), "\n", " "), nil
		}
	}
	return "", nil
}

// StartedAt returns the time at which a migration was requested; zero if Nova did not return it.
func (m Migration) StartedAt() time.Time { return parseTime(m.Created) }

// UpdatedAt returns the time of the last change of a migration; zero if Nova did not return it.
func (m Migration) UpdatedAt() time.Time { return parseTime(m.Updated) }

func parseTime(text string) time.Time {
	at, err := time.Parse(timeLayout, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Consumers returns the IDs of the servers and migrations with allocations of a resource provider or one of its descendants.
func (a *API) Consumers(ctx context.Context, root string) ([]string, error) {
	var out []string
	err := a.walk(ctx, root, func(_ resourceproviders.ResourceProvider, allocations map[string]resourceproviders.Allocation) {
		out = slices.AppendSeq(out, maps.Keys(allocations))
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
