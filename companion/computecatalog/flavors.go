package computecatalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

func (obs *observation) flavorRecord(name string) openstackv1.FlavorRecord {
	for _, r := range obs.catalog.Status.Flavors {
		if r.Name == name {
			return r
		}
	}
	return openstackv1.FlavorRecord{Name: name}
}

// flavor plans changes for a flavor of the spec and returns its record.
func (obs *observation) flavor(p *changePlan, want common.Flavor, record openstackv1.FlavorRecord) openstackv1.FlavorRecord {
	is, ok := obs.flavors[want.Name]
	if !ok {
		p.change(func(ctx context.Context) error { return obs.createFlavor(ctx, want) }, "created flavor %s", want.Name)
		return openstackv1.FlavorRecord{Name: want.Name, Made: true, ExtraSpecs: sorted(keys(want.ExtraSpecs))}
	}
	if record.ID != "" && record.ID != is.ID {
		record = openstackv1.FlavorRecord{Name: want.Name} // The flavor was re-created by another user.
	}
	record.ID = is.ID
	if differs := immutableDifferences(want, is); differs != "" {
		p.errorMessages = append(p.errorMessages, fmt.Sprintf("flavor %s exists with %s, which is immutable in Nova; use another "+
			"name, or delete the existing flavor", want.Name, differs))
		return record
	}
	if want.Description != is.Description && (want.Description != "" || record.Made) {
		p.change(func(ctx context.Context) error {
			return obs.nova.Describe(ctx, is.Name, is.ID, want.Description)
		}, "set the description of flavor %s", is.Name)
	}
	obs.extraSpecs(p, want, is, &record)
	obs.projects(p, want, is, &record)
	return record
}

// createFlavor creates a flavor that is recorded as created. If Nova rejects the request, the record is reverted, so that a
// flavor created later by another user is not considered as created here. A request without a response may have created the
// flavor, so the record is kept.
func (obs *observation) createFlavor(ctx context.Context, want common.Flavor) error {
	id, err := obs.nova.CreateFlavor(ctx, want)
	if err != nil {
		if compute.Rejected(err) {
			obs.createFailed = true
			for i, r := range obs.catalog.Status.Flavors {
				if r.Name == want.Name {
					obs.catalog.Status.Flavors[i] = openstackv1.FlavorRecord{Name: want.Name}
				}
			}
		}
		return err
	}
	if len(want.ExtraSpecs) == 0 {
		return nil
	}
	return obs.nova.SetExtraSpecs(ctx, want.Name, id, want.ExtraSpecs)
}

// immutableDifferences lists the differences in immutable properties.
func immutableDifferences(want, is common.Flavor) string {
	var out []string
	for _, d := range []struct {
		name     string
		want, is int32
	}{
		{"vcpus", want.VCPUs, is.VCPUs}, {"memoryMiB", want.MemoryMiB, is.MemoryMiB}, {"diskGiB", want.DiskGiB, is.DiskGiB},
		{"ephemeralGiB", want.EphemeralGiB, is.EphemeralGiB}, {"swapMiB", want.SwapMiB, is.SwapMiB},
	} {
		if d.want != d.is {
			out = append(out, fmt.Sprintf("%s %d rather than %d", d.name, d.is, d.want))
		}
	}
	if want.ID != "" && want.ID != is.ID {
		out = append(out, fmt.Sprintf("id %s rather than %s", is.ID, want.ID))
	}
	if want.Private != is.Private {
		out = append(out, fmt.Sprintf("private %t rather than %t", is.Private, want.Private))
	}
	return strings.Join(out, ", ")
}

// extraSpecs plans changes for the extra specs of a flavor, and for removed ones.
func (obs *observation) extraSpecs(p *changePlan, want, is common.Flavor, record *openstackv1.FlavorRecord) {
	set := map[string]common.ComputeProperty{}
	for key, value := range want.ExtraSpecs {
		if now, ok := is.ExtraSpecs[key]; !ok || now != value {
			set[key] = value
		}
	}
	desired, existing, before := keys(want.ExtraSpecs), keys(is.ExtraSpecs), setOf(record.ExtraSpecs)
	for _, key := range sorted(before) {
		if existing[key] && !desired[key] {
			p.remove(func(ctx context.Context) error { return obs.nova.UnsetExtraSpec(ctx, is.Name, is.ID, key) },
				"removed extra spec %s of flavor %s", key, is.Name)
		}
	}
	if len(set) > 0 {
		p.change(func(ctx context.Context) error {
			return obs.nova.SetExtraSpecs(ctx, is.Name, is.ID, set)
		}, "set extra specs of flavor %s", is.Name)
	}
	record.ExtraSpecs = sorted(added(desired, existing, before))
}

// projects plans changes for the projects with access, and for removed ones.
func (obs *observation) projects(p *changePlan, want, is common.Flavor, record *openstackv1.FlavorRecord) {
	desired, existing, before := setOf(want.Projects), setOf(is.Projects), setOf(record.Projects)
	for _, project := range sorted(before) {
		if existing[project] && !desired[project] {
			p.remove(func(ctx context.Context) error { return obs.nova.RemoveProject(ctx, is.Name, is.ID, project) },
				"removed flavor %s from project %s", is.Name, project)
		}
	}
	for _, project := range sorted(desired) {
		if !existing[project] {
			p.change(func(ctx context.Context) error { return obs.nova.AddProject(ctx, is.Name, is.ID, project) },
				"added project %s to flavor %s", project, is.Name)
		}
	}
	record.Projects = sorted(added(desired, existing, before))
}

// removeFlavor plans changes for a flavor that was removed from the spec, and reports whether a record must be kept.
func (obs *observation) removeFlavor(p *changePlan, record *openstackv1.FlavorRecord) bool {
	is, ok := obs.flavors[record.Name]
	if !ok || record.ID != "" && record.ID != is.ID {
		return false
	}
	if record.Made {
		p.remove(func(ctx context.Context) error { return obs.nova.DeleteFlavor(ctx, is.Name, is.ID) }, "deleted flavor %s", is.Name)
		return true
	}
	obs.extraSpecs(p, common.Flavor{}, is, record)
	obs.projects(p, common.Flavor{}, is, record)
	return len(record.ExtraSpecs)+len(record.Projects) > 0
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

func keys[V any](m map[string]V) map[string]bool { return setOf(slices.Collect(maps.Keys(m))) }

func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
