// Package network is what a Neutron's spec has to say beyond its schema, and what it means: for a claim, so that the claim reports it, and
// for a Neutron that someone makes by hand.
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

// names are the extensions of which each does what the one before it does, and more: with two of them, each port would get its name twice.
// https://docs.openstack.org/neutron/latest/admin/config-dns-int.html
var names = []neutronv1.ExtensionDriver{"dns", "dns_domain_ports", "subnet_dns_publish_fixed_ip"}

// Bounds of the numbers of VLANs and of tunnels, which have 12 and 24 bits.
const (
	lastVLAN = 4094
	lastVNI  = 1<<24 - 1
)

// Check returns everything with which Neutron would not start, or do something else than it says. Base is the path of the spec.
func Check(base string, by neutronv1.Mechanism, n neutronv1.Networks) error {
	errs := []error{
		checkPlugins(base, by, n), checkML2(base+".ml2", ptr.Deref(n.ML2, neutronv1.ML2{})),
		checkTypes(base+".ml2", by, n),
	}
	if by == neutronv1.ByOVS && len(n.DNSServers) > 0 {
		errs = append(errs, invalid.Field(base+".dnsServers",
			"with mechanism OVS, agents on nodes tell virtual machines of DNS servers, by their own configuration; leave it out"))
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
	if several := slices.DeleteFunc(slices.Clone(m.ExtensionDrivers), unnamed); len(several) > 1 {
		errs = append(errs, invalid.Field(field+".extensionDrivers", "each of %s gives ports their names; keep one of them", join(several)))
	}
	return errors.Join(errs...)
}

// checkRange refuses numbers that there are not, and those that go down.
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
