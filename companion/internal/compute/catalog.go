package compute

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// catalogMicroversion is the first with which Nova rejects unknown extra specs; earlier ones already have the description and
// the extra specs of flavors.
const catalogMicroversion = "2.86"

// catalog returns the API client with the microversion for flavors and aggregates.
func (a *API) catalog() *gophercloud.ServiceClient { return a.withMicroversion(catalogMicroversion) }

// Flavors returns all flavors, without the projects of private ones.
// https://docs.openstack.org/api-ref/compute/#flavors
func (a *API) Flavors(ctx context.Context) ([]common.Flavor, error) {
	list, err := openstackapi.List(ctx, "Nova", "list flavors",
		flavors.ListDetail(a.catalog(), flavors.ListOpts{AccessType: flavors.AllAccess}), flavors.ExtractFlavors)
	if err != nil {
		return nil, err
	}
	out := make([]common.Flavor, len(list))
	for i, f := range list {
		out[i] = common.Flavor{
			ID: f.ID, Name: f.Name, Description: f.Description, Private: !f.IsPublic,
			VCPUs: int32(f.VCPUs), MemoryMiB: int32(f.RAM), DiskGiB: int32(f.Disk), //nolint:gosec // Nova's own numbers have 31 bits.
			EphemeralGiB: int32(f.Ephemeral), SwapMiB: int32(f.Swap), //nolint:gosec // as above
			ExtraSpecs: properties(f.ExtraSpecs),
		}
	}
	return out, nil
}

// Projects returns the projects that may use a private flavor.
func (a *API) Projects(ctx context.Context, id string) ([]string, error) {
	list, err := openstackapi.List(ctx, "Nova", "list the projects of flavor "+id,
		flavors.ListAccesses(a.catalog(), id), flavors.ExtractAccesses)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, access := range list {
		out = append(out, access.TenantID)
	}
	return out, nil
}

// CreateFlavor creates a flavor and returns its ID. SetExtraSpecs sets its extra specs, AddProject adds its projects.
func (a *API) CreateFlavor(ctx context.Context, f common.Flavor) (id string, err error) {
	created, err := flavors.Create(ctx, a.catalog(), flavors.CreateOpts{
		Name: f.Name, ID: f.ID, Description: f.Description, IsPublic: new(!f.Private), VCPUs: int(f.VCPUs), RAM: int(f.MemoryMiB),
		Disk: new(int(f.DiskGiB)), Ephemeral: new(int(f.EphemeralGiB)), Swap: new(int(f.SwapMiB)),
	}).Extract()
	if err != nil {
		return "", describeError("create flavor "+f.Name, err)
	}
	return created.ID, nil
}

// description is the description of a flavor; "" removes it.
type description string

// ToFlavorUpdateMap returns the body of the request.
func (d description) ToFlavorUpdateMap() (map[string]any, error) {
	return map[string]any{"flavor": map[string]any{"description": text(string(d))}}, nil
}

// text returns the text, or nil if it is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Describe changes the description of a flavor.
func (a *API) Describe(ctx context.Context, name, id, as string) error {
	return failure("set the description of flavor "+name, flavors.Update(ctx, a.catalog(), id, description(as)).Err)
}

// SetExtraSpecs adds and changes extra specs of a flavor.
func (a *API) SetExtraSpecs(ctx context.Context, name, id string, specs map[string]common.ComputeProperty) error {
	return failure("set extra specs of flavor "+name, flavors.CreateExtraSpecs(ctx, a.catalog(), id, flavors.ExtraSpecsOpts(texts(specs))).Err)
}

// UnsetExtraSpec removes an extra spec.
func (a *API) UnsetExtraSpec(ctx context.Context, name, id, key string) error {
	return ignoreNotFound("remove extra spec "+key+" of flavor "+name, flavors.DeleteExtraSpec(ctx, a.catalog(), id, key).Err)
}

// AddProject gives a project access to a private flavor.
func (a *API) AddProject(ctx context.Context, name, id, project string) error {
	err := flavors.AddAccess(ctx, a.catalog(), id, flavors.AddAccessOpts{Tenant: project}).Err
	return failure("add project "+project+" to flavor "+name, err)
}

// RemoveProject revokes that access.
func (a *API) RemoveProject(ctx context.Context, name, id, project string) error {
	err := flavors.RemoveAccess(ctx, a.catalog(), id, flavors.RemoveAccessOpts{Tenant: project}).Err
	return ignoreNotFound("remove flavor "+name+" from project "+project, err)
}

// DeleteFlavor deletes a flavor. Servers keep a copy of their flavor.
func (a *API) DeleteFlavor(ctx context.Context, name, id string) error {
	return ignoreNotFound("delete flavor "+name, flavors.Delete(ctx, a.catalog(), id).Err)
}

// Aggregate is a host aggregate with its ID.
type Aggregate struct {
	common.HostAggregate
	ID int
}

// zoneKey is the metadata key in which Nova stores an aggregate's zone.
const zoneKey = "availability_zone"

// Aggregates returns all host aggregates.
// https://docs.openstack.org/api-ref/compute/#host-aggregates-os-aggregates
func (a *API) Aggregates(ctx context.Context) ([]Aggregate, error) {
	list, err := openstackapi.List(ctx, "Nova", "list aggregates", aggregates.List(a.catalog()), aggregates.ExtractAggregates)
	if err != nil {
		return nil, err
	}
	out := make([]Aggregate, len(list))
	for i, g := range list {
		delete(g.Metadata, zoneKey)
		out[i] = Aggregate{ID: g.ID, HostAggregate: common.HostAggregate{
			Name: g.Name, AvailabilityZone: g.AvailabilityZone, Hosts: g.Hosts, Metadata: properties(g.Metadata),
		}}
	}
	return out, nil
}

// CreateAggregate creates an aggregate without hosts.
func (a *API) CreateAggregate(ctx context.Context, name, zone string) error {
	err := aggregates.Create(ctx, a.catalog(), aggregates.CreateOpts{Name: name, AvailabilityZone: zone}).Err
	return failure("create aggregate "+name, err)
}

// SetZone sets the availability zone of an aggregate.
func (a *API) SetZone(ctx context.Context, g Aggregate, zone string) error {
	err := aggregates.Update(ctx, a.catalog(), g.ID, aggregates.UpdateOpts{AvailabilityZone: zone}).Err
	return failure("put aggregate "+g.Name+" into zone "+zone, err)
}

// SetMetadata sets keys of an aggregate's metadata, and removes those whose value is empty.
func (a *API) SetMetadata(ctx context.Context, g Aggregate, values map[string]string) error {
	metadata := map[string]any{}
	for key, value := range values {
		metadata[key] = text(value)
	}
	err := aggregates.SetMetadata(ctx, a.catalog(), g.ID, aggregates.SetMetadataOpts{Metadata: metadata}).Err
	return failure("set the metadata of aggregate "+g.Name, err)
}

// AddHost adds a hypervisor.
func (a *API) AddHost(ctx context.Context, g Aggregate, host string) error {
	err := aggregates.AddHost(ctx, a.catalog(), g.ID, aggregates.AddHostOpts{Host: host}).Err
	return failure("add host "+host+" to aggregate "+g.Name, err)
}

// RemoveHost removes a hypervisor. An unknown host is an error, because the aggregate still lists it.
func (a *API) RemoveHost(ctx context.Context, g Aggregate, host string) error {
	err := aggregates.RemoveHost(ctx, a.catalog(), g.ID, aggregates.RemoveHostOpts{Host: host}).Err
	return failure("remove host "+host+" from aggregate "+g.Name, err)
}

// DeleteAggregate deletes an aggregate without hosts.
func (a *API) DeleteAggregate(ctx context.Context, g Aggregate) error {
	return ignoreNotFound("delete aggregate "+g.Name, aggregates.Delete(ctx, a.catalog(), g.ID).Err)
}

// failure formats an error; nil if err is nil.
func failure(operation string, err error) error {
	if err == nil {
		return nil
	}
	return describeError(operation, err)
}

// ignoreNotFound formats the error of a deletion. A missing object is not an error.
func ignoreNotFound(operation string, err error) error {
	return ignoreNotFoundFrom("Nova", operation, err)
}

// ignoreNotFoundFrom formats the error of a deletion by another service.
func ignoreNotFoundFrom(service, operation string, err error) error {
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return describeErrorFrom(service, operation, err)
}

func properties(values map[string]string) map[string]common.ComputeProperty {
	out := map[string]common.ComputeProperty{}
	for key, value := range values {
		out[key] = common.ComputeProperty(value)
	}
	return out
}

func texts(values map[string]common.ComputeProperty) map[string]string {
	out := map[string]string{}
	for key, value := range values {
		out[key] = string(value)
	}
	return out
}
