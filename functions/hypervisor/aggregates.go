package hypervisor

import (
	"cmp"
	"fmt"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// aggregatesComponent adds the nodes to host aggregates and availability zones.
const aggregatesComponent = "aggregates"

// aggregates returns the names of the host aggregates of a group: the one of its zone, which has the name of the zone, and the others.
func (g *group) aggregates() []string {
	out := service.Strings(g.node.Aggregates)
	if g.zone != "" && !slices.Contains(out, string(g.zone)) {
		out = append(out, string(g.zone))
	}
	slices.Sort(out)
	return out
}

// field returns the path of a field of the group, for fields that both the pool and its slices have.
func (g *group) field(name string) string {
	if g.slice == "" {
		return "spec." + name
	}
	return fmt.Sprintf("spec.slices[%d].%s", g.index, name)
}

// checkAggregates rejects an aggregate that would add nodes to another zone.
func checkAggregates(groups []group) error {
	const most = 32 // in one object
	zones, all := map[string]bool{}, map[string]bool{}
	for i := range groups {
		zones[string(groups[i].zone)] = true
		for _, name := range groups[i].aggregates() {
			all[name] = true
		}
	}
	for i := range groups {
		for _, a := range groups[i].node.Aggregates {
			if zones[string(a)] && string(a) != string(groups[i].zone) {
				return invalid.Field(groups[i].field("aggregates"), "%s is an availability zone of the pool, into which these nodes would come; "+
					"name it in availabilityZone, or call the aggregate something else", a)
			}
		}
	}
	if len(all) > most {
		return invalid.Field("spec.aggregates", "the pool and its slices name %d aggregates and availability zones, and may name %d",
			len(all), most)
	}
	return nil
}

// hasAggregates reports whether the pool sets or has set aggregates. The object stays once it exists, possibly with an empty list: removing
// an aggregate from the list removes the nodes from it in Nova, and deleting the object does not.
func (m *model) hasAggregates() bool {
	if !m.sameCluster() {
		return false
	}
	_, observed := m.observed.Get(aggregatesComponent)
	return observed || slices.ContainsFunc(m.groups, func(g group) bool { return len(g.aggregates()) > 0 })
}

// aggregates builds the ComputeCatalog by which the control plane's companion adds the nodes of each DaemonSet to aggregates.
func aggregates(m *model) ([]compose.Stage, error) {
	spec := openstackv1.ComputeCatalogSpec{CloudCredentialsRef: compute.Cloud(novav1.ServiceName)}
	desired := map[string]common.HostAggregate{}
	for i := range m.groups {
		g := &m.groups[i]
		names := g.aggregates()
		if len(names) == 0 {
			continue
		}
		for _, name := range names {
			a := common.HostAggregate{Name: name, AvailabilityZone: desired[name].AvailabilityZone}
			if name == string(g.zone) {
				a.AvailabilityZone = name
			}
			desired[name] = a
		}
		spec.Nodes = append(spec.Nodes, openstackv1.ComputeNodes{
			Namespace: common.NamespaceName(m.instance), DaemonSet: common.ObjectName(g.name(computeComponent)), Aggregates: names,
		})
	}
	for _, a := range desired {
		spec.Aggregates = append(spec.Aggregates, a)
	}
	slices.SortFunc(spec.Aggregates, func(a, b common.HostAggregate) int { return cmp.Compare(a.Name, b.Name) })
	catalog := compose.Resource{Name: aggregatesComponent, Object: c5c3.ComputeCatalog(m.novaNamespaceMeta(aggregatesComponent), spec)}
	return []compose.Stage{{m.inPlaneCluster(catalog)}}, nil
}
