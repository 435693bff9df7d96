package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// DefaultMTU is Neutron's default of global_physnet_mtu.
const DefaultMTU = 1500

// TypeDrivers returns the kinds of networks that administrators can make, defaults included.
func TypeDrivers(by neutronv1.Mechanism, ml2 neutronv1.ML2) []string {
	return texts(ml2.TypeDrivers, []neutronv1.NetworkType{propertiesOf(by).tunnels, neutronv1.VLAN, neutronv1.Flat})
}

// checkTypes returns an error for network types without a driver, after defaults are applied: the schema compares only the
// fields that a claim sets. Neutron exits if a tenant network type has no driver
// (neutron.plugins.ml2.managers.TypeManager).
func checkTypes(field string, by neutronv1.Mechanism, n neutronv1.Networks) error {
	ml2 := ptr.Deref(n.ML2, neutronv1.ML2{})
	drivers, tenant := TypeDrivers(by, ml2), tenantTypes(by, n)
	var errs []error
	for i, t := range tenant {
		at := fmt.Sprintf("%s.tenantNetworkTypes[%d]", field, i)
		switch {
		case t == string(neutronv1.Flat):
			errs = append(errs, invalid.Field(at, "flat cannot be a tenant network type: Neutron gives no project a flat network; "+
				"remove it, and make flat networks as an administrator"))
		case slices.Contains(drivers, t):
		case len(ml2.TenantNetworkTypes) == 0:
			errs = append(errs, invalid.Field(field+".typeDrivers", "must contain %s, which is the default of tenantNetworkTypes with "+
				"mechanism %s; "+
				"add it, or set tenantNetworkTypes to some of %s", t, cmp.Or(by, neutronv1.ByOVN), strings.Join(drivers, ", ")))
		default:
			errs = append(errs, invalid.Field(at, "%s must be among typeDrivers, which are %s; add it to typeDrivers, or choose one of them",
				t, strings.Join(drivers, ", ")))
		}
	}
	for i, p := range ml2.PhysicalNetworks {
		errs = append(errs, checkPhysical(fmt.Sprintf("%s.physicalNetworks[%d]", field, i), p, ml2, drivers))
	}
	return errors.Join(errs...)
}

// checkPhysical returns an error for a physical network on which no network could be made, or whose settings have no effect.
func checkPhysical(field string, p neutronv1.PhysicalNetwork, ml2 neutronv1.ML2, drivers []string) error {
	var errs []error
	flat, vlan := slices.Contains(drivers, string(neutronv1.Flat)), slices.Contains(drivers, string(neutronv1.VLAN))
	const remedy = "must be among typeDrivers, which are %s; add it, or remove %s"
	switch {
	case p.Flat && !flat:
		errs = append(errs, invalid.Field(field+".flat", "flat "+remedy, strings.Join(drivers, ", "), "this"))
	case len(p.VLANRanges) > 0 && !vlan:
		errs = append(errs, invalid.Field(field+".vlanRanges", "vlan "+remedy, strings.Join(drivers, ", "), "this"))
	case !p.Flat && !vlan:
		errs = append(errs, invalid.Field(field, "vlan "+remedy, strings.Join(drivers, ", "),
			"the physical network, on which no network can be made"))
	}
	if most := ptr.Deref(ml2.MTU, DefaultMTU); ptr.Deref(p.MTU, 0) > most {
		// The smaller one counts (neutron.plugins.ml2.drivers.type_flat.FlatTypeDriver.get_mtu).
		errs = append(errs, invalid.Field(field+".mtu", "%d cannot exceed ml2.mtu, which is %d; set ml2.mtu to %[1]d or more, or lower this",
			*p.MTU, most))
	}
	return errors.Join(errs...)
}
