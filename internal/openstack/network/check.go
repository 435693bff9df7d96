// Package network validates the network settings of a Neutron spec beyond its schema, and derives Neutron's options from
// them. It is used for claims, so that the claim reports the errors, and for a Neutron that is created manually.
package network

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// names are extension drivers of which each includes the previous one. With two of them, each port would get its name
// twice. https://docs.openstack.org/neutron/latest/admin/config-dns-int.html
var names = []neutronv1.ExtensionDriver{"dns", "dns_domain_ports", "subnet_dns_publish_fixed_ip"}

// Upper limits of VLAN IDs and tunnel IDs, which have 12 and 24 bits.
const (
	lastVLAN = 4094
	lastVNI  = 1<<24 - 1
)

// Check returns errors for settings with which Neutron would not start, or which it would not apply as set. base is the
// path of the spec.
func Check(base string, by neutronv1.Mechanism, n neutronv1.Networks) error {
	errs := []error{
		checkPlugins(base, by, n), checkML2(base+".ml2", ptr.Deref(n.ML2, neutronv1.ML2{})),
		checkTypes(base+".ml2", by, n),
	}
	if by == neutronv1.ByOVS && len(n.DNSServers) > 0 {
		errs = append(errs, invalid.Field(base+".dnsServers",
			"with mechanism OVS, the agents configure DNS servers; remove it"))
	}
	return errors.Join(errs...)
}

func checkML2(field string, m neutronv1.ML2) error {
	var errs []error
	if m.VNIRange != "" {
		errs = append(errs, checkRange(field+".vniRange", m.VNIRange, lastVNI, "tunnels"))
	}
	for i, p := range m.PhysicalNetworks {
		for j, r := range p.VLANRanges {
			errs = append(errs, checkRange(fmt.Sprintf("%s.physicalNetworks[%d].vlanRanges[%d]", field, i, j), r, lastVLAN, "VLANs"))
		}
	}
	unnamed := func(e neutronv1.ExtensionDriver) bool { return !slices.Contains(names, e) }
	if selected := slices.DeleteFunc(slices.Clone(m.ExtensionDrivers), unnamed); len(selected) > 1 {
		errs = append(errs, invalid.Field(field+".extensionDrivers", "each of %s gives ports their names; keep one of them", join(selected)))
	}
	return errors.Join(errs...)
}

// checkRange returns an error for numbers outside of 1 to last, and for descending ranges.
func checkRange(field string, r neutronv1.NumberRange, last int, of string) error {
	from, to, _ := strings.Cut(string(r), ":")
	first, err := strconv.Atoi(from)
	end, other := strconv.Atoi(to)
	if err != nil || other != nil || first < 1 || first > end || end > last {
		return invalid.Field(field, "%q is no range of %s; write one from 1 to %d, the smaller number first, such as 100:199", r, of, last)
	}
	return nil
}

func join[S ~string](items []S) string {
	out := make([]string, len(items))
	for i, s := range items {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
