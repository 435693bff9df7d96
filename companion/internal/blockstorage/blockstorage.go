// Package blockstorage asks Cinder's API which of its processes report, and how much room its backends have.
package blockstorage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/services"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/answer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// Volume is the name of the program that manages a backend.
const Volume = "cinder-volume"

// Service is the record of a process.
type Service struct {
	Binary, Host string
	// Backend is the one that it manages, if any.
	Backend string
	// Up: it has reported lately. The manager of a backend does if it has once reached what it keeps volumes in.
	Up bool
}

// Pool is a part of a backend that volumes are placed in: most backends are one.
type Pool struct {
	Backend, Name string
	// ReportedAt is when a manager has last got an answer to how much room there is. Zero: it never has.
	ReportedAt time.Time
	// Total is what it has, and Free what is left of it.
	Total, Free Capacity
}

// Capacity is an amount in GiB.
type Capacity struct {
	GiB int64
	// Unknown: there is none that anybody could say. Endless: its driver says that there is no end.
	Unknown, Infinite bool
}

// Add is the room of two pools together.
func (r Capacity) Add(o Capacity) Capacity {
	return Capacity{r.GiB + o.GiB, r.Unknown || o.Unknown, r.Infinite || o.Infinite}
}

// API is Cinder's, for a user who is logged in. Every error is a sentence with what was answered.
type API struct{ client *gophercloud.ServiceClient }

// Find logs in as an object of a namespace says, and finds Cinder in the catalog. What keeps it from that is the problem; an error is the
// API server's.
//
// The oldest microversion is asked: by newer ones, the list of processes needs a scheduler that answers.
func Find(
	ctx context.Context, reader client.Reader, way identity.Transport, namespace string, ref common.CloudCredentialsReference,
) (api *API, reason string, err error) {
	_, service, reason, err := way.FindService(ctx, reader, namespace, ref, "block-storage")
	if err != nil || reason != "" {
		return nil, reason, err
	}
	return &API{service}, "", nil
}

// Services are the records of all processes but the API's, of which there are none.
// https://docs.openstack.org/api-ref/block-storage/v3/#services-os-services
func (a *API) Services(ctx context.Context) ([]Service, error) {
	const what = "list the services of Cinder"
	pages, err := services.List(a.client, services.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, describeError(what, err)
	}
	list, err := services.ExtractServices(pages)
	if err != nil {
		return nil, errors.New("cannot " + what + ": Cinder's answer is none")
	}
	out := make([]Service, len(list))
	for i, s := range list {
		host, backend, _ := strings.Cut(s.Host, "@")
		out[i] = Service{Binary: s.Binary, Host: host, Backend: backend, Up: s.State == "up"}
	}
	return out, nil
}

// Pools are those that Cinder's schedulers know of backends whose managers report. They are an administrator's to ask for. What a manager
// says stays until it says something else: a pool of a Ceph that is away is there as it was, but for its age.
//
// It is read here and not by gophercloud, which has 0 for what is not known, and no age.
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
		// It is in UTC, and may have fractions of seconds.
		if at, err := time.Parse("2006-01-02T15:04:05", p.Capabilities.Timestamp); err == nil && p.Capabilities.State != "down" {
			pool.ReportedAt = at
		}
		out = append(out, pool)
	}
	slices.SortFunc(out, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Name, b.Name), b.ReportedAt.Compare(a.ReportedAt))
	})
	// A backend whose managers have begun to share it may be there twice: as it is, and as it was.
	return slices.CompactFunc(out, func(a, b Pool) bool { return a.Backend == b.Backend && a.Name == b.Name }), nil
}

// parseCapacity reads an amount, which is a number, or says that it is none.
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

// describeError makes a sentence of an error of Cinder's.
func describeError(what string, err error) error { return answer.DescribeError("Cinder", what, err) }
