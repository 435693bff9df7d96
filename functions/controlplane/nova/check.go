package nova

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Check returns an error for settings that Nova rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	n := m.Spec.Services.Nova
	spec := s.CheckedSpec().WithAPI(m.Process(n.API), n.Placement)
	errs := []error{
		m.CheckQueue(s), m.CheckOther(s, placementv1.ServiceName), spec.Check(s.FieldPath(""), s.Name, r), checkCells(m, s), x.checkCellServers(),
		checkProcesses(s, n), checkConsoles(m, s, n), checkAggregates(s, n.Aggregates), checkFlavors(s, n.Flavors),
		checkFlavorSpecs(s, n.Flavors, r), checkFilters(m, s, r),
	}
	return errors.Join(errs...)
}

// cardFilter keeps servers with ports of network cards away from hypervisors without cards (SR-IOV).
const cardFilter = "PciPassthroughFilter"

// checkFilters returns an error for a list of scheduler filters without the filter that gives ports functions of network cards. The list of
// the claim replaces the default list, which contains it.
func checkFilters(m *services.Cloud, s *services.State, r release.Release) error {
	neutron := m.Spec.Services.Neutron
	if neutron == nil || !neutron.Enabled || neutron.ML2 == nil || neutron.ML2.SRIOV == nil {
		return nil
	}
	options, err := override.Options(s.Name, string(r), s.CheckedSpec().Overrides, s.FieldPath(""))
	if err != nil {
		return err
	}
	value, set := options["filter_scheduler"]["enabled_filters"]
	if !set {
		return nil
	}
	var filters []string
	switch v := value.(type) {
	case []string:
		filters = v
	case string:
		for item := range strings.SplitSeq(v, ",") {
			filters = append(filters, strings.TrimSpace(item))
		}
	}
	if slices.Contains(filters, cardFilter) {
		return nil
	}
	return invalid.Field(s.FieldPath(".config.filter_scheduler.enabled_filters"), "must contain %s, because services.neutron.ml2.sriov gives "+
		"ports functions of network cards, and servers with such ports would go to hypervisors "+
		"without cards; add it, or remove ml2.sriov", cardFilter)
}

// checkProcesses returns an error for resources of a process that are too small.
func checkProcesses(s *services.State, n *controlplanev1.Nova) error {
	var errs []error
	check := func(field string, requested *common.Process) {
		if requested != nil {
			errs = append(errs, openstack.CheckProcess(s.FieldPath(field), *requested))
		}
	}
	check(".conductor", n.Conductor)
	check(".scheduler", n.Scheduler)
	if n.Metadata != nil {
		check(".metadata", &n.Metadata.Process)
	}
	if n.Consoles != nil {
		check(".consoles", &n.Consoles.Process)
	}
	for i, c := range n.Cells {
		in := fmt.Sprintf(".cells[%d]", i)
		check(in+".conductor", c.Conductor)
		check(in+".metadata", c.Metadata)
		if c.Consoles != nil {
			check(in+".consoles", &c.Consoles.Process)
		}
	}
	return errors.Join(errs...)
}

// checkConsoles returns an error for host names of consoles that do not run, or that are not exposed.
func checkConsoles(m *services.Cloud, s *services.State, n *controlplanev1.Nova) error {
	requested := ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{})
	var errs []error
	for i, c := range n.Cells {
		own, field := ptr.Deref(c.Consoles, controlplanev1.CellConsoles{}), s.FieldPath(fmt.Sprintf(".cells[%d].consoles", i))
		switch {
		case own.Hostname != "" && requested.Graphical == novav1.None:
			errs = append(errs, invalid.Field(field+".hostname", "requires graphical consoles, and consoles.graphical of the service is None; "+
				"set it to VNC or SPICE, or remove the host name"))
		default:
			errs = append(errs, m.CheckExposed(field+".hostname", own.Hostname))
		}
		switch {
		case own.SerialHostname != "" && !requested.Serial:
			errs = append(errs, invalid.Field(field+".serialHostname", "requires serial consoles; set consoles.serial of the service to true, "+
				"or remove the host name"))
		default:
			errs = append(errs, m.CheckExposed(field+".serialHostname", own.SerialHostname))
		}
	}
	return errors.Join(errs...)
}
