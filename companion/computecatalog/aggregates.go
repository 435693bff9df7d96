package computecatalog

import (
	"context"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

func (obs *observation) aggregateRecord(name string) openstackv1.AggregateRecord {
	for _, r := range obs.catalog.Status.Aggregates {
		if r.Name == name {
			return r
		}
	}
	return openstackv1.AggregateRecord{Name: name}
}

// aggregate plans changes for an aggregate of the spec and returns its record.
func (obs *observation) aggregate(p *changePlan, want common.HostAggregate,
	record openstackv1.AggregateRecord) openstackv1.AggregateRecord {
	is, ok := obs.aggregates[want.Name]
	if !ok {
		p.change(func(ctx context.Context) error { return obs.createAggregate(ctx, want) }, "created aggregate %s", want.Name)
		return openstackv1.AggregateRecord{Name: want.Name, Made: true}
	}
	if record.ID != 0 && record.ID != int64(is.ID) {
		record = openstackv1.AggregateRecord{Name: want.Name} // The aggregate was re-created by another user.
	}
	record.ID = int64(is.ID)
	if zone := want.AvailabilityZone; zone != "" && zone != is.AvailabilityZone {
		p.change(func(ctx context.Context) error { return obs.nova.SetZone(ctx, is, zone) }, "put aggregate %s into availability zone %s",
			is.Name, zone)
	}
	obs.metadata(p, want, is, &record)
	obs.members(p, want, is, &record)
	return record
}

// createAggregate creates an aggregate that is recorded as created. If Nova rejects the request, the record is reverted, as
// for a flavor.
func (obs *observation) createAggregate(ctx context.Context, want common.HostAggregate) error {
	err := obs.nova.CreateAggregate(ctx, want.Name, want.AvailabilityZone)
	if compute.Rejected(err) {
		obs.createFailed = true
		for i, r := range obs.catalog.Status.Aggregates {
			if r.Name == want.Name {
				obs.catalog.Status.Aggregates[i] = openstackv1.AggregateRecord{Name: want.Name}
			}
		}
	}
	return err
}

// metadata plans changes for the metadata in the spec, and for metadata that was removed from it.
func (obs *observation) metadata(p *changePlan, want common.HostAggregate, is compute.Aggregate, record *openstackv1.AggregateRecord) {
	values := map[string]string{}
	for key, value := range want.Metadata {
		if now, ok := is.Metadata[key]; !ok || now != value {
			values[key] = string(value)
		}
	}
	desired, existing, before := keys(want.Metadata), keys(is.Metadata), setOf(record.Metadata)
	for key := range before {
		if existing[key] && !desired[key] {
			values[key] = ""
		}
	}
	if len(values) > 0 {
		p.change(func(ctx context.Context) error { return obs.nova.SetMetadata(ctx, is, values) }, "set metadata of aggregate %s", is.Name)
	}
	record.Metadata = sorted(added(desired, existing, before))
}

// members plans changes for the hosts. The controller waits for hosts that have not registered.
func (obs *observation) members(p *changePlan, want common.HostAggregate, is compute.Aggregate, record *openstackv1.AggregateRecord) {
	desired, existing, before := map[string]bool{}, setOf(is.Hosts), setOf(record.Hosts)
	for _, host := range want.Hosts {
		if !existing[host] && !obs.hosts[host] {
			p.missing = append(p.missing, host)
			continue
		}
		desired[host] = true
	}
	for host := range before {
		if existing[host] && obs.nodes.mayRejoin(want.Name, host) {
			desired[host] = true
		}
	}
	for _, host := range sorted(before) {
		if existing[host] && !desired[host] {
			plan := p.remove
			if is.AvailabilityZone != "" {
				plan = p.removeHost
			}
			plan(func(ctx context.Context) error { return obs.nova.RemoveHost(ctx, is, host) }, "removed host %s from aggregate %s", host, is.Name)
		}
	}
	for _, host := range sorted(desired) {
		if !existing[host] {
			p.change(func(ctx context.Context) error { return obs.nova.AddHost(ctx, is, host) }, "added host %s to aggregate %s", host, is.Name)
		}
	}
	record.Hosts = sorted(added(desired, existing, before))
}

// removeAggregate plans changes for an aggregate that was removed from the spec, and reports whether a record must be kept.
// The aggregate is deleted once it has no hosts; if other users have added hosts, it is left to them.
func (obs *observation) removeAggregate(p *changePlan, record *openstackv1.AggregateRecord) bool {
	is, ok := obs.aggregates[record.Name]
	if !ok || record.ID != 0 && record.ID != int64(is.ID) {
		return false
	}
	obs.members(p, common.HostAggregate{}, is, record)
	switch {
	case len(record.Hosts) > 0:
		return true // Checked again after the hosts have been removed.
	case !record.Made:
		obs.metadata(p, common.HostAggregate{}, is, record)
		return len(record.Metadata) > 0
	case len(is.Hosts) == 0:
		p.remove(func(ctx context.Context) error { return obs.nova.DeleteAggregate(ctx, is) }, "deleted aggregate %s", is.Name)
		return true
	}
	return false
}
