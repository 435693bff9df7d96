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

func (w *world) flavorRecord(name string) openstackv1.FlavorRecord {
	for _, r := range w.catalog.Status.Flavors {
		if r.Name == name {
			return r
		}
	}
	return openstackv1.FlavorRecord{Name: name}
}

// flavor plans for one that is desired, and returns its record.
func (w *world) flavor(p *plan, want common.Flavor, record openstackv1.FlavorRecord) openstackv1.FlavorRecord {
	is, ok := w.flavors[want.Name]
	if !ok {
		p.change(func(ctx context.Context) error { return w.makeFlavor(ctx, want) }, "made flavor %s", want.Name)
		return openstackv1.FlavorRecord{Name: want.Name, Made: true, ExtraSpecs: sorted(keys(want.ExtraSpecs))}
	}
	if record.ID != "" && record.ID != is.ID {
		record = openstackv1.FlavorRecord{Name: want.Name} // Somebody else has made another one.
	}
	record.ID = is.ID
	if differs := differences(want, is); differs != "" {
		p.problems = append(p.problems, fmt.Sprintf("flavor %s is there with %s, which Nova cannot change: give the one that is wanted another "+
			"name, or delete the one that is there", want.Name, differs))
		return record
	}
	if want.Description != is.Description && (want.Description != "" || record.Made) {
		p.change(func(ctx context.Context) error {
			return w.nova.Describe(ctx, is.Name, is.ID, want.Description)
		}, "described flavor %s", is.Name)
	}
	w.extraSpecs(p, want, is, &record)
	w.projects(p, want, is, &record)
	return record
}

// makeFlavor makes one that is recorded as made. If Nova refuses, the record takes that back: whoever makes one of that name later, it is
// his. A request without an answer may have made it, so that the record stays.
func (w *world) makeFlavor(ctx context.Context, want common.Flavor) error {
	id, err := w.nova.MakeFlavor(ctx, want)
	if err != nil {
		if compute.Refused(err) {
			w.unmade = true
			for i, r := range w.catalog.Status.Flavors {
				if r.Name == want.Name {
					w.catalog.Status.Flavors[i] = openstackv1.FlavorRecord{Name: want.Name}
				}
			}
		}
		return err
	}
	if len(want.ExtraSpecs) == 0 {
		return nil
	}
	return w.nova.SetExtraSpecs(ctx, want.Name, id, want.ExtraSpecs)
}

// differences are what cannot be changed.
func differences(want, is common.Flavor) string {
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

// extraSpecs plans for those that are desired of a flavor, and for those that are so no longer.
func (w *world) extraSpecs(p *plan, want, is common.Flavor, record *openstackv1.FlavorRecord) {
	set := map[string]common.ComputeProperty{}
	for key, value := range want.ExtraSpecs {
		if now, ok := is.ExtraSpecs[key]; !ok || now != value {
			set[key] = value
		}
	}
	desired, there, before := keys(want.ExtraSpecs), keys(is.ExtraSpecs), setOf(record.ExtraSpecs)
	for _, key := range sorted(before) {
		if there[key] && !desired[key] {
			p.remove(func(ctx context.Context) error { return w.nova.UnsetExtraSpec(ctx, is.Name, is.ID, key) },
				"removed extra spec %s of flavor %s", key, is.Name)
		}
	}
	if len(set) > 0 {
		p.change(func(ctx context.Context) error {
			return w.nova.SetExtraSpecs(ctx, is.Name, is.ID, set)
		}, "set extra specs of flavor %s", is.Name)
	}
	record.ExtraSpecs = sorted(added(desired, there, before))
}

// projects plans for who is let in, and who no longer.
func (w *world) projects(p *plan, want, is common.Flavor, record *openstackv1.FlavorRecord) {
	desired, there, before := setOf(want.Projects), setOf(is.Projects), setOf(record.Projects)
	for _, project := range sorted(before) {
		if there[project] && !desired[project] {
			p.remove(func(ctx context.Context) error { return w.nova.RemoveProject(ctx, is.Name, is.ID, project) },
				"took flavor %s from project %s", is.Name, project)
		}
	}
	for _, project := range sorted(desired) {
		if !there[project] {
			p.change(func(ctx context.Context) error { return w.nova.AddProject(ctx, is.Name, is.ID, project) },
				"let project %s use flavor %s", project, is.Name)
		}
	}
	record.Projects = sorted(added(desired, there, before))
}

// removeFlavor plans for one that is not desired any more, and says whether there is anything left to remember.
func (w *world) removeFlavor(p *plan, record *openstackv1.FlavorRecord) bool {
	is, ok := w.flavors[record.Name]
	if !ok || record.ID != "" && record.ID != is.ID {
		return false
	}
	if record.Made {
		p.remove(func(ctx context.Context) error { return w.nova.DeleteFlavor(ctx, is.Name, is.ID) }, "deleted flavor %s", is.Name)
		return true
	}
	w.extraSpecs(p, common.Flavor{}, is, record)
	w.projects(p, common.Flavor{}, is, record)
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
