// Package compute asks Nova's API which of its processes report, and removes the records of those that are gone
// (https://docs.openstack.org/api-ref/compute/#compute-services-os-services). It makes flavors and host aggregates, moves virtual machines,
// says what hypervisors have room for, and removes what Placement and Neutron keep of those that are gone.
package compute

import (
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/answer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// microversion is the first that names records by UUID: numbers repeat from cell to cell.
const microversion = "2.53"

// Compute is the name of the program of a hypervisor.
const Compute = "nova-compute"

// Service is the record of a process.
type Service struct {
	ID, Binary, Host string
	// Up: it has reported lately.
	Up bool
	// Disabled: a hypervisor takes no virtual machines, for this reason.
	Disabled bool
	Reason   string
}

// API is Nova's, for a user who is logged in, and what it needs of its neighbours'. Every error is a sentence with what was answered.
type API struct {
	client *gophercloud.ServiceClient
	user   *identity.User
}

// Find logs in as an object of a namespace says, and finds Nova in the catalog. What keeps it from that is the problem; an error is the API
// server's.
func Find(
	ctx context.Context, reader client.Reader, way identity.Transport, namespace string, ref common.CloudCredentialsReference,
) (api *API, problem string, err error) {
	user, service, problem, err := way.FindService(ctx, reader, namespace, ref, "compute")
	if err != nil || problem != "" {
		return nil, problem, err
	}
	service.Microversion = microversion
	return &API{service, user}, "", nil
}

// Services are the records of all processes, or of those of one program. Those of a cell whose database does not answer are missing.
func (a *API) Services(ctx context.Context, binary string) ([]Service, error) {
	pages, err := services.List(a.client, services.ListOpts{Binary: binary}).AllPages(ctx)
	if err != nil {
		return nil, describeError("list compute services", err)
	}
	list, err := services.ExtractServices(pages)
	if err != nil {
		return nil, errors.New("cannot list compute services: Nova's answer is none")
	}
	out := make([]Service, len(list))
	for i, s := range list {
		out[i] = Service{
			ID: s.ID, Binary: s.Binary, Host: s.Host, Up: s.State == "up", Disabled: s.Status == "disabled", Reason: s.DisabledReason,
		}
	}
	return out, nil
}

// Delete removes a record. That there is none is no error.
func (a *API) Delete(ctx context.Context, id string) error {
	return ignoreNotFound("remove the record of compute service "+id, services.Delete(ctx, a.client, id).Err)
}

// Disable keeps new virtual machines from a hypervisor.
func (a *API) Disable(ctx context.Context, s Service, reason string) error {
	o := services.UpdateOpts{Status: services.ServiceDisabled, DisabledReason: reason}
	return failure("disable nova-compute on "+s.Host, services.Update(ctx, a.client, s.ID, o).Err)
}

// Enable lets a hypervisor have virtual machines again.
func (a *API) Enable(ctx context.Context, s Service) error {
	o := services.UpdateOpts{Status: services.ServiceEnabled}
	return failure("enable nova-compute on "+s.Host, services.Update(ctx, a.client, s.ID, o).Err)
}

// Refused reports whether Nova said no: nothing came of the request. Of one that got no answer, or an error of the server's, nobody knows.
func Refused(err error) bool { return answer.Refused(err) }

// describeError makes a sentence of an error of Nova's.
func describeError(what string, err error) error { return describeErrorFrom("Nova", what, err) }

// describeErrorFrom makes a sentence of an error of another service's.
func describeErrorFrom(service, what string, err error) error {
	return answer.DescribeError(service, what, err)
}
