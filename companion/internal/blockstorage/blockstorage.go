// Package blockstorage reads the service records of Cinder and the capacity of its backends from its API.
package blockstorage

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/services"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// Volume is the name of the program that manages a backend.
const Volume = "cinder-volume"

// Service is the record of a process.
type Service struct {
	Binary, Host string
	// Backend is the backend that it manages, if any.
	Backend string
	// Up is set if it reported recently. The manager of a backend does so once it has connected to its storage.
	Up bool
}

// Pool is a part of a backend in which volumes are placed: most backends have one.
type Pool struct {
	Backend, Name string
	// ReportedAt is when a manager last read the capacity; zero if it never did.
	ReportedAt time.Time
	// Total and Free capacity.
	Total, Free Capacity
}

// Capacity is an amount in GiB.
type Capacity struct {
	GiB int64
	// Unknown is set if the amount is unknown. Infinite is set if the driver reports no limit.
	Unknown, Infinite bool
}

// Add returns the sum of two capacities.
func (r Capacity) Add(o Capacity) Capacity {
	return Capacity{r.GiB + o.GiB, r.Unknown || o.Unknown, r.Infinite || o.Infinite}
}

// API is the Cinder API for a logged-in user. All errors contain the message of the response.
type API struct{ client *gophercloud.ServiceClient }

// Find logs in with the credentials that an object references, and looks up Cinder in the catalog. If that fails, reason is
// set; an error is from the API server.
//
// It uses the oldest microversion: with newer ones, listing the processes requires a scheduler that responds.
func Find(
	ctx context.Context, reader client.Reader, way identity.Transport, namespace string, ref common.CloudCredentialsReference,
) (api *API, reason string, err error) {
	_, service, reason, err := way.FindService(ctx, reader, namespace, ref, "block-storage")
	if err != nil || reason != "" {
		return nil, reason, err
	}
	return &API{service}, "", nil
}

// Services returns the records of all processes except the API's, which has none.
// https://docs.openstack.org/api-ref/block-storage/v3/#services-os-services
func (a *API) Services(ctx context.Context) ([]Service, error) {
	const operation = "list the services of Cinder"
	list, err := openstackapi.List(ctx, "Cinder", operation, services.List(a.client, services.ListOpts{}), services.ExtractServices)
	if err != nil {
		return nil, err
	}
	out := make([]Service, len(list))
	for i, s := range list {
		host, backend, _ := strings.Cut(s.Host, "@")
		out[i] = Service{Binary: s.Binary, Host: host, Backend: backend, Up: s.State == "up"}
	}
	return out, nil
}

// Pools returns the pools of backends whose managers report to Cinder's schedulers. The request requires an administrator. A
// pool remains unchanged until its manager reports again: the pool of an unreachable Ceph is returned unchanged, except for
// its age.
//
// gophercloud is not used, because it returns 0 for unknown amounts, and no age.
// https://docs.openstack.org/api-ref/block-storage/v3/#list-all-back-end-storage-pools
func (a *API) Pools(ctx context.Context) ([]Pool, error) {
	var body struct {
		Pools []struct {
			Name         string `json:"name"`
			Capabilities struct {
				Total     any    `json:"total_capacity_gb"`
				Free      any    `json:"free_capacity_gb"`
				State     string `json:"backend_state"`
				Timestamp string `json:"timestamp"`
			} `json:"capabilities"`
		} `json:"pools"`
	}
	address := a.client.ServiceURL("scheduler-stats", "get_pools") + "?detail=True"
	if _, err := a.client.Get(ctx, address, &body, nil); err != nil {
		return nil, describeError("list the pools of Cinder", err)
	}
	out := make([]Pool, 0, len(body.Pools))
	for _, p := range body.Pools {
		_, place, _ := strings.Cut(p.Name, "@")
		backend, name, _ := strings.Cut(place, "#")
		pool := Pool{Backend: backend, Name: name, Total: parseCapacity(p.Capabilities.Total), Free: parseCapacity(p.Capabilities.Free)}
		// The time is in UTC, and may have fractional seconds.
		if at, err := time.Parse("2006-01-02T15:04:05", p.Capabilities.Timestamp); err == nil && p.Capabilities.State != "down" {
			pool.ReportedAt = at
		}
		out = append(out, pool)
	}
	slices.SortFunc(out, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Name, b.Name), b.ReportedAt.Compare(a.ReportedAt))
	})
	// A backend whose managers have started to share it may be listed twice: with its current and its previous state.
	return slices.CompactFunc(out, func(a, b Pool) bool { return a.Backend == b.Backend && a.Name == b.Name }), nil
}

// parseCapacity parses an amount, which is a number, "infinite" or unknown.
func parseCapacity(value any) Capacity {
	if value == "infinite" {
		return Capacity{Infinite: true}
	}
	number, _ := value.(json.Number)
	n, err := number.Float64()
	if err != nil {
		return Capacity{Unknown: true}
	}
	return Capacity{GiB: int64(max(n, 0))}
}

// describeError formats an error of Cinder.
func describeError(operation string, err error) error {
	return openstackapi.DescribeError("Cinder", operation, err)
}
