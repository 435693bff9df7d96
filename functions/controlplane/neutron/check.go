package neutron

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// Check returns an error for settings that Neutron rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	n := m.Spec.Services.Neutron
	spec := s.CheckedSpec().WithAPI(m.Process(n.API), n.Placement)
	errs := []error{m.CheckQueue(s), spec.Check(s.FieldPath(""), s.Name, r), network.Check(s.FieldPath(""), n.Mechanism, n.Networks)}
	switch {
	case OwnsOVN(m):
		errs = append(errs, checkOVN(m, s.FieldPath(".ovn")))
	case !usesOVN(m) && n.OVN != nil: // Admission rejects it, too.
		errs = append(errs, invalid.Field(s.FieldPath(".ovn"), "cannot be set with mechanism OVS; remove it"))
	}
	if x := ptr.Deref(n.OVN, controlplanev1.OVN{}).External; x != nil && usesOVN(m) {
		errs = append(errs, checkExternalOVN(s.FieldPath(".ovn.external"), x))
	}
	previous := s.Observed.Map("spec", "ovn")
	if previous != nil && usesOVN(m) && (previous["clientSecretRef"] != nil) != (ovnSpecFromClaim(m).External != nil) {
		errs = append(errs, invalid.Field(s.FieldPath(".ovn.external"), "cannot be added or removed, because networks cannot be moved to "+
			"another OVN; create another control plane"))
	}
	if previous := s.Observed.String("spec", "mechanism"); previous != "" && previous != string(n.Mechanism) {
		errs = append(errs, invalid.Field(s.FieldPath(".mechanism"), "is immutable: networks use %s; set it to %[1]s, "+
			"and create another control plane to use the other mechanism", previous))
	}
	if n.Workers != nil {
		errs = append(errs, openstack.CheckProcess(s.FieldPath(".workers"), *n.Workers))
	}
	return errors.Join(errs...)
}

// checkExternalOVN returns an error for addresses of databases to which nothing connects.
func checkExternalOVN(field string, x *controlplanev1.ExternalOVN) error {
	errs := []error{
		checkDatabaseAddresses(field+".northbound", x.Northbound, x.Networks), checkDatabaseAddresses(field+".southbound", x.Southbound,
			x.Networks),
	}
	if x.Northbound == x.Southbound {
		errs = append(errs, invalid.Field(field+".southbound", "cannot be the addresses of the northbound database; set the "+
			"southbound addresses, whose port is usually 6642"))
	}
	return errors.Join(errs...)
}

// checkDatabaseAddresses returns an error for addresses (ssl:host:port, separated by commas) that OVN cannot parse, that are duplicates, or
// that are outside of the networks that Neutron can reach.
func checkDatabaseAddresses(field, addresses string, networks []common.CIDR) error {
	var errs []error
	observedState := map[string]bool{}
	for a := range strings.SplitSeq(addresses, ",") {
		member := strings.TrimPrefix(a, "ssl:")
		if err := syntax.HostPort(member); err != nil {
			errs = append(errs, invalid.Field(field, "%s; write ssl:host:port for each member, separated by commas", err))
			continue
		}
		if observedState[member] {
			errs = append(errs, invalid.Field(field, "cannot contain %s twice; list each member once", a))
		}
		observedState[member] = true
		ip, err := netip.ParseAddr(strings.Trim(member[:strings.LastIndex(member, ":")], "[]"))
		if err == nil && !slices.ContainsFunc(networks, func(c common.CIDR) bool {
			n, err := netip.ParsePrefix(string(c))
			return err == nil && n.Masked().Contains(ip)
		}) {
			errs = append(errs, invalid.Field(field, "%s must be in one of networks, because Neutron can reach no "+
				"others; add its network there", ip))
		}
	}
	return errors.Join(errs...)
}

// maxOVNMembers is the maximum number of members of an OVN database.
const maxOVNMembers = 5

// checkOVN returns an error for processes with too few resources, invalid numbers of members, and changes of volumes.
func checkOVN(m *services.Cloud, field string) error {
	requested := ovnSpecFromClaim(m)
	var errs []error
	if s := requested.Southbound; s != nil {
		errs = append(errs, infrastructure.CheckNotExposed(field+".southbound.exposure", s.Exposure))
	}
	if requested.Northd != nil {
		errs = append(errs, openstack.CheckProcess(field+".northd", *requested.Northd))
	}
	if requested.Relay != nil {
		errs = append(errs, openstack.CheckProcess(field+".relay", *requested.Relay))
	}
	for _, d := range []struct {
		part string
		of   *controlplanev1.Members
	}{{northbound, requested.Northbound}, {Southbound, southboundFromClaim(requested)}} {
		if d.of == nil {
			continue
		}
		at, is := field+"."+d.part, ovnMembers(m, d.part, d.of)
		errs = append(errs, openstack.CheckProcess(at, d.of.Process))
		if n := *is.Replicas; n%2 == 0 || n > maxOVNMembers {
			errs = append(errs, invalid.Field(at+".replicas", "a Raft cluster of %d members is not supported; set it to 1, 3 or 5", n))
		}
		if size := d.of.StorageSize; size != nil && quantity.Bytes(string(*size)) != quantity.Bytes(string(is.StorageSize)) {
			errs = append(errs, invalid.Field(at+".storageSize", "is immutable: the volumes have %s; set it to %[1]s, or remove it",
				is.StorageSize))
		}
		if d.of.StorageClass != "" && d.of.StorageClass != is.StorageClass {
			errs = append(errs, infrastructure.CheckStorageClassUnchanged(at, string(is.StorageClass)))
		}
	}
	if r := requested.RestoreFrom; r != nil {
		errs = append(errs, claim.CheckTime(field+".restoreFrom.targetRecoveryTime", r.TargetRecoveryTime))
	}
	return errors.Join(errs...)
}
