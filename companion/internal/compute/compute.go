// Package compute reads the service records of Nova and deletes stale ones
// (https://docs.openstack.org/api-ref/compute/#compute-services-os-services). It creates flavors and host aggregates,
// migrates servers, reads the capacity of hypervisors, and deletes records of removed hypervisors in Placement and Neutron.
package compute

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// microversion is the first that identifies records by UUID: numeric IDs are not unique across cells.
const microversion = "2.53"

// partialMicroversion is the first with which the list of services names the hypervisors of a cell whose database does not
// respond. With earlier ones, their records are missing without notice.
const partialMicroversion = "2.69"

// timeLayout is the layout of times in Nova's responses, in UTC. Fractional seconds are accepted, too.
const timeLayout = "2006-01-02T15:04:05"

// hostMicroversion is the last that addresses a compute service by its host. Nova then reads only the cell of that host. With later ones it
// searches one cell after the other for the UUID, and fails if the database of an earlier one does not respond.
const hostMicroversion = "2.42"

// migrationsMicroversion is the first with pages of migrations. Nova then reads all cells at once, and skips those whose database does not
// respond (get_migrations_sorted of nova/compute/api.py). With earlier ones it reads one cell after the other, and fails (get_migrations).
const migrationsMicroversion = "2.59"

// Compute is the name of the program of a hypervisor.
const Compute = "nova-compute"

// Service is the record of a process.
type Service struct {
	ID, Binary, Host string
	// Unknown is set for a nova-compute in a cell whose database does not respond. Only Binary and Host are known.
	Unknown bool
	// Up is set if it reported recently. ReportedAt is the time of the last report, or of a later change of the record.
	Up         bool
	ReportedAt time.Time
	// Disabled is set if a hypervisor accepts no servers, for the given Reason.
	Disabled bool
	Reason   string
	// ForcedDown is set if an administrator has declared that its host failed: Nova treats it as down, whether it reports or not.
	ForcedDown bool
}

// API is the Nova API for a logged-in user, with access to Placement and Neutron. All errors contain the message of the
// response.
type API struct {
	client *gophercloud.ServiceClient
	user   *identity.User
}

// Find logs in with the credentials that an object references, and looks up Nova in the catalog. If that fails, problem is
// set; an error is from the API server.
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

// Services returns the records of all processes, or of one program. Of a cell whose database does not respond, it returns the
// known hypervisors as Unknown, and no other processes.
func (a *API) Services(ctx context.Context, binary string) ([]Service, error) {
	query := url.Values{}
	if binary != "" {
		query.Set("binary", binary)
	}
	return a.listServices(ctx, query)
}

// HostService returns the record of nova-compute on a host; nil if Nova has none.
func (a *API) HostService(ctx context.Context, host string) (*Service, error) {
	all, err := a.listServices(ctx, url.Values{"binary": {Compute}, "host": {host}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// listServices returns the records that a query selects. gophercloud is not used, because it rejects records without an ID.
func (a *API) listServices(ctx context.Context, query url.Values) ([]Service, error) {
	type service struct {
		ID      string `json:"id"`
		Binary  string `json:"binary"`
		Host    string `json:"host"`
		State   string `json:"state"`
		Status  string `json:"status"`
		Reason  string `json:"disabled_reason"`
		Updated string `json:"updated_at"`
		Forced  bool   `json:"forced_down"`
	}
	client := *a.client
	client.Microversion = partialMicroversion
	address := client.ServiceURL("os-services")
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	out := []Service{}
	list := openstackapi.Pages{Client: &client, First: address, Key: "services"}
	err := openstackapi.Each(ctx, "Nova", "list compute services", list, func(_ string, s service) {
		at, err := time.Parse(timeLayout, s.Updated)
		if err != nil {
			at = time.Time{} // It has never reported.
		}
		out = append(out, Service{
			ID: s.ID, Binary: s.Binary, Host: s.Host, Unknown: s.Status == "UNKNOWN",
			Up: s.State == "up", ReportedAt: at, Disabled: s.Status == "disabled", Reason: s.Reason,
			ForcedDown: s.Forced,
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Delete deletes a record. A missing record is not an error.
func (a *API) Delete(ctx context.Context, id string) error {
	return ignoreNotFound("remove the record of compute service "+id, services.Delete(ctx, a.client, id).Err)
}

// Disable prevents new servers on a hypervisor.
// https://docs.openstack.org/api-ref/compute/#log-disabled-compute-service-information
func (a *API) Disable(ctx context.Context, s Service, reason string) error {
	return failure("disable nova-compute on "+s.Host, a.update(ctx, "disable-log-reason", map[string]any{
		"host": s.Host, "binary": Compute, "disabled_reason": reason,
	}))
}

// Enable allows servers on a hypervisor again.
func (a *API) Enable(ctx context.Context, s Service) error {
	return failure("enable nova-compute on "+s.Host, a.update(ctx, "enable", map[string]any{"host": s.Host, "binary": Compute}))
}

// ForceDown declares that the host of a hypervisor failed.
// https://docs.openstack.org/api-ref/compute/#update-forced-down
func (a *API) ForceDown(ctx context.Context, host string) error {
	return failure("force nova-compute down on "+host, a.update(ctx, "force-down", map[string]any{
		"host": host, "binary": Compute, "forced_down": true,
	}))
}

// ForceUp declares that the host of a hypervisor has returned. Nova rejects that until nova-compute has deleted the guests that were
// evacuated from the host, but only in a request by the UUID of the service: in one by the host, it searches the evacuations in the
// database of cell0, and finds none (_check_for_evacuations of nova/api/openstack/compute/services.py has no target cell). The request
// therefore fails while the database of an earlier cell does not respond.
// https://docs.openstack.org/api-ref/compute/#update-compute-service
func (a *API) ForceUp(ctx context.Context, s Service) error {
	address, body := a.client.ServiceURL("os-services", s.ID), map[string]any{"forced_down": false}
	_, err := a.client.Put(ctx, address, body, nil, //nolint:bodyclose // the client does
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	return failure("force nova-compute up on "+s.Host, err)
}

// update changes the compute service of a host, without access to other cells.
func (a *API) update(ctx context.Context, operation string, body map[string]any) error {
	client := a.ofHost()
	_, err := client.Put(ctx, client.ServiceURL("os-services", operation), body, nil, //nolint:bodyclose // the client does
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	return err
}

// ofHost returns the API client with the microversion for requests about one host.
func (a *API) ofHost() *gophercloud.ServiceClient { return a.withMicroversion(hostMicroversion) }

// withMicroversion returns the API client with another microversion.
func (a *API) withMicroversion(version string) *gophercloud.ServiceClient {
	out := *a.client
	out.Microversion = version
	return &out
}

// Rejected reports whether Nova rejected a request, so that it had no effect. After a missing response or a server error, the
// effect is unknown.
func Rejected(err error) bool { return openstackapi.Rejected(err) }

// describeError formats an error of Nova.
func describeError(operation string, err error) error {
	return describeErrorFrom("Nova", operation, err)
}

// describeErrorFrom formats an error of another service.
func describeErrorFrom(service, operation string, err error) error {
	return openstackapi.DescribeError(service, operation, err)
}
