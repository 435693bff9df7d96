package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// Limits of used capacity, in percent: Ceph warns at nearFull, and rejects writes at full (mon_osd_nearfull_ratio and mon_osd_full_ratio,
// https://docs.ceph.com/en/latest/rados/configuration/mon-config-ref/#storage-capacity). The condition of the claim warns earlier, at
// warnAt, because obtaining devices takes days.
const (
	warnAt   = 75
	nearFull = 85
	full     = 95
)

// checkRedundancy rejects copies and chunks for which the claim names too few nodes or devices: Ceph could never place them.
func (m *model) checkRedundancy() error {
	if len(m.spec.Nodes) == 0 || m.isStretched() {
		return nil
	}
	var errs []error
	check := func(field string, r rook.Redundancy) {
		domains := len(domains(m.spec.Nodes, r, false))
		domain := map[string]string{hostDomain: "node", osdDomain: "device"}[r.FailureDomain]
		if domain == "" || domains >= r.Width() {
			return
		}
		retained := fmt.Sprintf("%d copies", r.Copies)
		if r.Data > 0 {
			retained = fmt.Sprintf("%d pieces", r.Width())
		}
		class := ""
		if r.DeviceClass != "" {
			class = " of class " + r.DeviceClass
		}
		errs = append(errs, invalid.Field(field, "%s require as many failure domains (%s), and devices%s are on %s; add more, keep fewer "+
			"copies, or set another failureDomain", retained, r.FailureDomain, class, countNoun(domains, domain)))
	}
	checked := map[string]bool{}
	for _, p := range m.pools {
		if !checked[p.field] {
			checked[p.field] = true
			check(p.field, p.redundancy)
		}
	}
	for i, f := range m.spec.Filesystems {
		check(fmt.Sprintf("spec.filesystems[%d].dataPool", i), m.redundancy(f.DataPool.Redundancy))
	}
	for i, o := range m.spec.ObjectStores {
		check(fmt.Sprintf("spec.objectStores[%d].dataPool", i), m.redundancy(o.DataPool.Redundancy))
	}
	if r := m.metadata(storagev1.Redundancy{}); len(errs) == 0 {
		check("spec.replicationFactor", r)
	}
	return errors.Join(errs...)
}

// domains returns the capacity of each failure domain, in bytes: of devices, or of nodes. A device without size counts as 0; with known,
// one such device results in nil. All failure domains other than devices are counted as nodes, because the topology above nodes is unknown
// here.
func domains(nodes []storagev1.Node, r rook.Redundancy, known bool) []int64 {
	var out []int64
	for _, n := range nodes {
		sum, found := int64(0), false
		for _, d := range n.Devices {
			switch {
			case r.DeviceClass != "" && d.DeviceClass != "" && string(d.DeviceClass) != r.DeviceClass:
				continue
			case known && (d.Size == "" || r.DeviceClass != "" && d.DeviceClass == ""):
				return nil
			}
			size := quantity.Bytes(string(d.Size))
			if r.FailureDomain == osdDomain {
				out = append(out, size)
			}
			sum, found = sum+size, true
		}
		if found && r.FailureDomain != osdDomain {
			out = append(out, sum)
		}
	}
	return out
}

// holds returns how much data fits with some copies, no two in one domain: with the largest domains full of one copy each, the other copies
// must fit into the rest.
func holds(domains []int64, copies int) int64 {
	sorted := slices.Sorted(slices.Values(domains))
	if len(sorted) < copies || copies < 1 {
		return 0
	}
	least, sum := int64(-1), int64(0)
	for i, size := range sorted {
		sum += size
		if remaining := copies - (len(sorted) - 1 - i); remaining > 0 {
			if capacityLimit := sum / int64(remaining); least < 0 || capacityLimit < least {
				least = capacityLimit
			}
		}
	}
	return least
}

// withinThreshold returns how much of an amount may be used before Ceph warns.
func withinThreshold(amount int64) int64 {
	const percent = 100
	return amount/percent*nearFull + amount%percent*nearFull/percent
}

// checkCapacity rejects data that does not fit into the devices, if the claim sets their sizes.
func (m *model) checkCapacity() error {
	r := m.metadata(storagev1.Redundancy{})
	sizes := domains(m.spec.Nodes, r, true)
	if m.spec.TargetCapacity == "" || len(sizes) == 0 {
		return nil
	}
	total := int64(0)
	for _, d := range sizes {
		total += d
	}
	capacityLimit, spread := withinThreshold(holds(sizes, int(r.Copies))), fmt.Sprintf("each in another failure domain (%s)", r.FailureDomain)
	if m.isStretched() {
		capacityLimit, spread = withinThreshold(m.zoneCapacity(r)), "two in each of two zones"
	}
	if quantity.Bytes(string(m.spec.TargetCapacity)) <= capacityLimit {
		return nil
	}
	return invalid.Field("spec.targetCapacity", "%s do not fit: devices of %s hold %s of data in %d copies, %s, before Ceph calls them "+
		"nearly full (%d %%); add devices, or lower targetCapacity",
		m.spec.TargetCapacity, amount(total), amount(capacityLimit), r.Copies, spread,
		nearFull)
}

// amount formats a number of bytes for messages.
func amount(n int64) string {
	const unit = 1024
	value, units := float64(n), []string{"bytes", "Ki", "Mi", "Gi", "Ti", "Pi"}
	i := 0
	for ; value >= unit && i < len(units)-1; i++ {
		value /= unit
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + units[i]
}

// capacity returns the raw capacity that Ceph reports, including copies. Nil: it is not reported yet.
func (m *model) capacity() *storagev1.Capacity {
	of := func(field string) *resource.Quantity {
		n, ok := m.ceph().Int("status", "ceph", "capacity", field)
		if !ok {
			return nil
		}
		return resource.NewQuantity(n, resource.BinarySI)
	}
	out := storagev1.Capacity{Total: of("bytesTotal"), Used: of("bytesUsed"), Available: of("bytesAvailable")}
	if out.Total == nil {
		return nil
	}
	return &out
}

// capacityCondition returns the condition on capacity: the cluster has the capacity that the claim sets, and it is not used up yet.
func (m *model) capacityCondition() ready.Result {
	c := m.capacity()
	if c == nil || c.Total.Value() == 0 || c.Used == nil {
		return ready.Result{}
	}
	total, used := c.Total.Value(), c.Used.Value()
	percent := used / max(total/100, 1) //nolint:mnd // percent
	capacityLimit := withinThreshold(total) / int64(m.spec.ReplicationFactor)
	switch target := quantity.Bytes(string(m.spec.TargetCapacity)); {
	case percent >= warnAt:
		return ready.Wait("NearFull", "%d %% of %s are used; Ceph warns at %d %%, and rejects writes at %d %%: add devices, or remove data",
			percent, amount(total), nearFull, full)
	case target > capacityLimit:
		return ready.Wait("CapacityInsufficient", "devices of %s hold %s of data in %d copies before Ceph calls them nearly full (%d %%), and "+
			"targetCapacity is %s: add devices, or lower targetCapacity", amount(total), amount(capacityLimit), m.spec.ReplicationFactor, nearFull,
			m.spec.TargetCapacity)
	}
	return ready.Result{Ready: true, Reason: "CapacitySufficient", Message: fmt.Sprintf("%d %% of %s are used", percent, amount(total))}
}

// Values of Ceph's health.
const (
	healthOK    = "HEALTH_OK"
	healthError = "HEALTH_ERR"
)

// unreachable is Ceph's health check of inactive placement groups, which Ceph reports only as a warning
// (https://docs.ceph.com/en/latest/rados/operations/health-checks/#pg-availability).
const unreachable = "PG_AVAILABILITY"

// withoutCopy returns the health check which shows that all copies of some data may be lost: as many devices, nodes or other failure
// domains are down as there are copies. If an OSD with a copy is left, it reports missing copies, which becomes PG_AVAILABILITY within a
// minute. If none is left, no OSD reports the placement group, and Ceph keeps its last state, clean.
func (m *model) withoutCopy(o *observe.Object) string {
	if m.isStretched() {
		return m.zonesWithoutCopy(o)
	}
	for _, r := range m.redundancies() {
		check := "OSD_DOWN"
		if r.Width() > 1 && r.FailureDomain != osdDomain {
			check = "OSD_" + strings.ToUpper(r.FailureDomain) + "_DOWN"
		}
		if parseDownCount(o, check) >= r.Width() {
			return check
		}
	}
	return ""
}

// parseDownCount returns the number of failed items in the message of a health check: 2 hosts (24 osds) down.
func parseDownCount(o *observe.Object, check string) int {
	var n int
	if _, err := fmt.Sscan(o.String("status", "ceph", "details", check, "message"), &n); err != nil {
		return 0
	}
	return n
}

// healthy returns the condition on Ceph's own health.
func (m *model) healthy() ready.Result {
	switch health := m.ceph().String("status", "ceph", "health"); health {
	case "":
		return ready.Result{}
	case healthOK:
		return ready.Result{Ready: true, Reason: health}
	default:
		return ready.Wait(health, "%s", details(m.ceph()))
	}
}

// details returns the messages of active health checks, by name (https://docs.ceph.com/en/latest/rados/operations/health-checks/).
func details(o *observe.Object) string {
	const most = 1000
	var out []string
	for name, d := range o.Map("status", "ceph", "details") {
		check, _ := d.(map[string]any)
		message, _ := check["message"].(string)
		out = append(out, name+": "+message)
	}
	slices.Sort(out)
	text := strings.Join(out, "; ")
	if text == "" {
		return "Ceph reports no reason"
	}
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
