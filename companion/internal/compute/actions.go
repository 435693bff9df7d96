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

// act requests an operation on a server. Nova sets its task before it responds, and rejects a second request until the operation has ended.
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
func (m Migration) StartedAt() time.Time {
	at, err := time.Parse(timeLayout, m.Created)
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
