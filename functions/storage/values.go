package storage

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// checkValues returns errors for values that Rook and Ceph would not parse, or with which a daemon would not start. The schema compares
// only fields that a claim sets.
func (m *model) checkValues() error {
	return errors.Join(
		syntax.Check("spec", &m.spec), m.checkMemory(), m.checkDeviceNames(), m.checkDevicePatterns(), m.checkMonitorAddresses(),
		m.checkNetworks(), m.checkSnapshotSchedules(),
	)
}

// checkMemory returns an error for memory limits with which a daemon does not start.
func (m *model) checkMemory() error {
	s := m.spec
	errs := []error{
		minimum.CheckLimits("spec.monitors.resources", minimum.CephMonitor, ptr.Deref(s.Monitors, storagev1.Monitors{}).Resources),
		minimum.CheckLimits("spec.managers.resources", minimum.CephManager, ptr.Deref(s.Managers, storagev1.Managers{}).Resources),
		minimum.CheckLimits("spec.osds.resources", minimum.CephOSD, ptr.Deref(s.OSDs, storagev1.OSDs{}).Resources),
		minimum.CheckLimits("spec.mirroring.resources", minimum.CephMirror, ptr.Deref(s.Mirroring, storagev1.Mirroring{}).Resources),
	}
	for i, f := range s.Filesystems {
		errs = append(errs, minimum.CheckLimits(fmt.Sprintf("spec.filesystems[%d].resources", i), minimum.CephMetadata, f.Resources))
	}
	for i, o := range s.ObjectStores {
		errs = append(errs, minimum.CheckLimits(fmt.Sprintf("spec.objectStores[%d].resources", i), minimum.CephGateway, o.Resources))
	}
	for i, n := range s.NFS {
		errs = append(errs, minimum.CheckLimits(fmt.Sprintf("spec.nfs[%d].resources", i), minimum.CephNFS, n.Resources))
	}
	return errors.Join(errs...)
}

// checkDevicePatterns returns an error for expressions that Rook does not compile. It uses Go's regular expressions
// (https://rook.io/docs/rook/latest/CRDs/Cluster/ceph-cluster-crd/#storage-selection-settings).
func (m *model) checkDevicePatterns() error {
	s := ptr.Deref(m.spec.DeviceSelector, storagev1.DeviceSelector{})
	var errs []error
	for _, f := range []struct{ name, pattern string }{{"filter", s.Filter}, {"pathFilter", s.PathFilter}} {
		if _, err := regexp.Compile(f.pattern); err != nil {
			errs = append(errs, invalid.Field("spec.deviceSelector."+f.name,
				"is not a regular expression of Go: %s; correct it, or use nodes to name "+
					"devices", strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		}
	}
	return errors.Join(errs...)
}

// checkMonitorAddresses returns an error for addresses of monitors that ceph.conf does not take, and for one that is given twice.
func (m *model) checkMonitorAddresses() error {
	if m.spec.External == nil {
		return nil
	}
	var errs []error
	positions := map[string]int{}
	for i, a := range m.spec.External.Monitors {
		field := fmt.Sprintf("spec.external.monitors[%d]", i)
		for _, address := range monitorAddresses(string(a)) {
			if err := checkMonitorAddress(address); err != nil {
				errs = append(errs, invalid.Field(field, "%s; write the address as ceph mon dump prints it, such as "+
					"[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", err))
				break
			}
			if j, duplicate := positions[address]; duplicate {
				errs = append(errs, invalid.Field(field, "%s is the address of monitors[%d] already; name each monitor once", address, j))
				break
			}
			positions[address] = i
		}
	}
	return errors.Join(errs...)
}

// monitorAddresses returns the addresses of one monitor. Brackets around them, which do not belong to an IPv6 address, join several.
func monitorAddresses(text string) []string {
	inner, listed := strings.CutPrefix(text, "[v")
	inner, closed := strings.CutSuffix(inner, "]")
	if listed && closed {
		return strings.Split("v"+inner, ",")
	}
	return strings.Split(text, ",")
}

// checkMonitorAddress returns an error for an address that is neither host nor host:port, with or without v1: or v2: before it.
// https://docs.ceph.com/en/latest/rados/configuration/msgr2/#address-formats
func checkMonitorAddress(text string) error {
	address := text
	if version, rest, ok := strings.Cut(text, ":"); ok && (version == "v1" || version == "v2") {
		address = rest
		if err := syntax.HostPort(address); err != nil {
			return err
		}
		return nil
	}
	if _, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil {
		return nil
	}
	if !strings.ContainsAny(address, ":[]") && address != "" {
		return nil // a host name
	}
	return syntax.HostPort(address)
}

// checkNetworks returns an error for networks of both families: a daemon listens at one of them.
func (m *model) checkNetworks() error {
	var first netip.Prefix
	var errs []error
	for _, n := range []struct {
		name  string
		cidrs []string
	}{{"publicCIDRs", texts(m.spec.Network.PublicCIDRs)}, {"clusterCIDRs", texts(m.spec.Network.ClusterCIDRs)}} {
		for i, c := range n.cidrs {
			p, err := netip.ParsePrefix(c)
			switch {
			case err != nil: // The schema reports it.
			case !first.IsValid():
				first = p
			case first.Addr().Is4() != p.Addr().Is4():
				errs = append(errs, invalid.Field(fmt.Sprintf("spec.network.%s[%d]", n.name, i),
					"%s and %s must be of one family: daemons listen at IPv4 or "+
						"at IPv6; remove one of them", c, first))
			}
		}
	}
	return errors.Join(errs...)
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}

// checkSnapshotSchedules returns an error for an interval that is given twice in other units: 60m is 1h.
func (m *model) checkSnapshotSchedules() error {
	var errs []error
	for i, p := range m.spec.Pools {
		if p.Mirroring == nil {
			continue
		}
		intervals := map[int64]string{}
		for j, s := range p.Mirroring.SnapshotSchedules {
			if s.Interval == "" { // The schema rejects it.
				continue
			}
			minutes, ok := minutesOf(s.Interval)
			if !ok {
				errs = append(errs, invalid.Field(fmt.Sprintf("spec.pools[%d].mirroring.snapshotSchedules[%d].interval", i, j),
					"%s is not a number of minutes, hours or days; set an interval such as 15m, 1h or 1d", s.Interval))
				continue
			}
			if other, duplicate := intervals[minutes]; duplicate {
				errs = append(errs, invalid.Field(fmt.Sprintf("spec.pools[%d].mirroring.snapshotSchedules[%d].interval", i, j),
					"%s and %s are the same "+
						"interval, of which Ceph keeps one; remove one of them", s.Interval, other))
			}
			intervals[minutes] = s.Interval
		}
	}
	return errors.Join(errs...)
}

// minutesOf returns an interval in minutes: 15m, 1h, 1d. The schema checks its form, but not the size of the number.
func minutesOf(interval string) (minutes int64, ok bool) {
	for unit, of := range map[string]int64{"m": 1, "h": 60, "d": 24 * 60} {
		if number, found := strings.CutSuffix(interval, unit); found {
			n, err := strconv.ParseInt(number, 10, 32)
			return n * of, err == nil
		}
	}
	return 0, false
}
