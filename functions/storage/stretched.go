package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

const (
	// zoneLabel is the label by which Kubernetes and Rook identify the zone of a node, zoneDomain the corresponding CRUSH level.
	zoneLabel  = "topology.kubernetes.io/zone"
	zoneDomain = "zone"
	// stretchCopies is the number of copies in both zones, copiesInZone the number in one zone
	// (https://docs.ceph.com/en/latest/rados/operations/stretch-mode/).
	stretchCopies, copiesInZone = 4, 2
)

// Health checks of Ceph in stretch mode: it continues with one zone, and resynchronizes the other one when it returns.
const (
	degradedZones   = "DEGRADED_STRETCH_MODE"
	recoveringZones = "RECOVERING_STRETCH_MODE"
	zoneDown        = "OSD_ZONE_DOWN"
	hostDown        = "OSD_HOST_DOWN"
	monitorDown     = "MON_DOWN"
)

// isStretched reports whether each of two zones holds all data.
func (m *model) isStretched() bool { return m.spec.Stretched != nil }

// stretchCluster returns Rook's settings of zones. Rook runs two monitors in each zone with data, and the arbiter in the third. In stretch
// mode all pools use the same CRUSH rule. https://rook.io/docs/rook/latest/CRDs/Cluster/stretch-cluster/
func (m *model) stretchCluster() object.Map {
	s := m.spec.Stretched
	if s == nil {
		return nil
	}
	zones := object.List{object.Map{"name": string(s.Arbiter.Zone), "arbiter": true}}
	for _, z := range s.Zones {
		zones = append(zones, object.Map{"name": string(z)})
	}
	return object.Map{"failureDomainLabel": zoneLabel, "subFailureDomain": string(m.spec.FailureDomain), "zones": zones}
}

// arbiterPlacement places the arbiter on nodes without OSDs.
func (m *model) arbiterPlacement() object.Map {
	s := m.spec.Stretched
	if s == nil {
		return nil
	}
	return m.onNodes(object.List{object.Map{"key": zoneLabel, "operator": "In", "values": object.Array(s.Arbiter.Zone)}})
}

// checkArbiterNodes rejects an arbiter on nodes that the platform does not allow in this namespace.
func (m *model) checkArbiterNodes() error {
	s := m.spec.Stretched
	if s == nil {
		return nil
	}
	labels := append(limit.LabelTerms(m.spec.NodeSelector), zoneLabel+"="+string(s.Arbiter.Zone))
	return storageNodes.CheckAny(limit.In(m.platform.Limits, m.claim.Namespace), m.claim.Namespace, "spec.stretched.arbiter.zone", labels)
}

// across spreads pods of a file system or an object store over both zones, so that some remain if a zone is lost.
func (m *model) across(app, label, name string) object.Map {
	out := m.placement()
	if m.isStretched() {
		out["topologySpreadConstraints"] = object.List{object.Map{
			"maxSkew": int64(1), "topologyKey": zoneLabel, "whenUnsatisfiable": "ScheduleAnyway",
			"labelSelector": object.Map{"matchLabels": object.Map{"app": app, label: name}},
		}}
	}
	return out
}

// managerPool is built together with the cluster: Rook enables stretch mode once that pool exists, and reports the cluster ready after
// that.
func managerPool(m *model) ([]compose.Stage, error) {
	return []compose.Stage{{m.managerPool()}}, nil
}

// inZone returns the nodes of a zone in the claim.
func (m *model) inZone(zone storagev1.ZoneName) []storagev1.Node {
	var out []storagev1.Node
	for _, n := range m.spec.Nodes {
		if n.Zone == zone {
			out = append(out, n)
		}
	}
	return out
}

// zoneCapacity returns how much data fits: each zone holds all of it, twice.
func (m *model) zoneCapacity(r rook.Redundancy) int64 {
	r.FailureDomain = r.Within
	least := int64(-1)
	for _, z := range m.spec.Stretched.Zones {
		if capacityLimit := holds(domains(m.inZone(z), r, true), copiesInZone); least < 0 || capacityLimit < least {
			least = capacityLimit
		}
	}
	return least
}

// checkStretched rejects settings that Rook or Ceph reject in stretch mode, or would wait for indefinitely.
func (m *model) checkStretched() error {
	if !m.isStretched() {
		return m.checkNoZones()
	}
	if s := m.spec.Stretched; len(s.Zones) != 2 || s.Arbiter.Zone == "" { //nolint:mnd // the schema requires it, too
		return invalid.Field("spec.stretched", "set two zones that hold data, and a third for the arbiter (arbiter.zone)")
	}
	var errs []error
	refuse := func(field, format string, args ...any) { errs = append(errs, invalid.Field(field, format, args...)) }
	if m.spec.ReplicationFactor != stretchCopies {
		refuse("spec.replicationFactor", "must be 4 with stretched: two copies in each of two zones")
	}
	if d := m.spec.FailureDomain; d != hostDomain && d != osdDomain {
		refuse("spec.failureDomain", "with stretched, failureDomain must be host or osd, not %s", d)
	}
	if monitors, _ := m.daemons(); monitors != 5 && monitors != 3 {
		refuse("spec.monitors.count", "must be 5 or 3 with stretched, not %d: two or one in each zone and the arbiter", monitors)
	}
	if slices.Contains(m.spec.Stretched.Zones, m.spec.Stretched.Arbiter.Zone) {
		refuse("spec.stretched.arbiter.zone", "must differ from zone %s, with which the arbiter would fail; set a third zone",
			m.spec.Stretched.Arbiter.Zone)
	}
	if m.spec.DeviceClass != "" {
		refuse("spec.deviceClass", "in stretch mode all pools use the same CRUSH rule and all devices; remove it, and select devices "+
			"of one class")
	}
	m.forEachRedundancy(func(field string, r storagev1.Redundancy) {
		switch {
		case r.ErasureCoded != nil || r.Replicated != nil && r.Replicated.Size != stretchCopies:
			refuse(field, "must be replicated with size 4: Ceph rejects other pools in stretch mode")
		case r.DeviceClass != "" || r.FailureDomain != "":
			refuse(field, "in stretch mode all pools use the same CRUSH rule; remove deviceClass and failureDomain")
		}
	})
	return errors.Join(append(errs, m.checkZones()...)...)
}

// forEachRedundancy calls f with the redundancy settings of each pool and the path of their field.
func (m *model) forEachRedundancy(f func(field string, r storagev1.Redundancy)) {
	for i, p := range m.spec.Pools {
		f(fmt.Sprintf("spec.pools[%d]", i), p.Redundancy)
	}
	for i, s := range m.spec.Filesystems {
		f(fmt.Sprintf("spec.filesystems[%d].dataPool", i), s.DataPool.Redundancy)
	}
	for i, s := range m.spec.ObjectStores {
		f(fmt.Sprintf("spec.objectStores[%d].dataPool", i), s.DataPool.Redundancy)
	}
}

// checkNoZones rejects zones that are not used.
func (m *model) checkNoZones() error {
	for i, n := range m.spec.Nodes {
		if n.Zone != "" {
			return invalid.Field(fmt.Sprintf("spec.nodes[%d].zone", i), "requires stretched: without it, Ceph reads zones from labels of "+
				"nodes; remove it")
		}
	}
	return nil
}

// checkZones rejects zones that cannot hold all data, or have too few nodes for their monitors, as far as the claim names nodes.
func (m *model) checkZones() []error {
	if len(m.spec.Nodes) == 0 {
		return nil
	}
	var errs []error
	s := m.spec.Stretched
	for i, n := range m.spec.Nodes {
		if !slices.Contains(s.Zones, n.Zone) {
			errs = append(errs, invalid.Field(fmt.Sprintf("spec.nodes[%d].zone", i), "every storage node must be in zone %s or "+
				"%s; set its zone", s.Zones[0], s.Zones[1]))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	r := m.metadata(storagev1.Redundancy{})
	r.FailureDomain = r.Within
	monitors, _ := m.daemons()
	var sizes []int64
	for _, z := range s.Zones {
		nodes := m.inZone(z)
		if retained := len(domains(nodes, r, false)); retained < copiesInZone {
			errs = append(errs, invalid.Field("spec.nodes", "zone %s holds two copies, which do not share a failure domain (%s), and has %s; add "+
				"more", z, r.Within, countNoun(retained, map[string]string{hostDomain: "node", osdDomain: "device"}[r.Within])))
		}
		if desired := int(monitors-1) / len(s.Zones); len(nodes) < desired {
			errs = append(errs, invalid.Field("spec.monitors.count", "a node runs one monitor, and zone %s has %s for %d monitors; add nodes, "+
				"or set 3 monitors", z, countNoun(len(nodes), "node"), desired))
		}
		sum := int64(0)
		for _, size := range domains(nodes, r, true) {
			sum += size
		}
		sizes = append(sizes, sum)
	}
	if sizes[0] > 0 && sizes[1] > 0 && sizes[0] != sizes[1] {
		errs = append(errs, invalid.Field("spec.nodes", "zone %s has %s of devices and zone %s has %s: stretch mode requires "+
			"equal capacity in both zones", s.Zones[0], amount(sizes[0]), s.Zones[1], amount(sizes[1])))
	}
	return errs
}

// zonesWithoutCopy returns the health check which shows that all copies of some data may be lost: both zones are down, or two nodes of the
// remaining zone, or as many failure domains as there are copies.
func (m *model) zonesWithoutCopy(o *observe.Object) string {
	zones, hosts := parseDownCount(o, zoneDown), parseDownCount(o, hostDown)
	check, parts := hostDown, hosts
	if m.spec.FailureDomain == osdDomain {
		check, parts = "OSD_DOWN", parseDownCount(o, "OSD_DOWN")
	}
	switch {
	case zones >= len(m.spec.Stretched.Zones):
		return zoneDown
	case zones == 0 && parts >= stretchCopies:
		return check
	case zones == 1 && len(m.spec.Nodes) > 0:
		r := m.metadata(storagev1.Redundancy{})
		r.FailureDomain = r.Within
		most := -1 // the maximum of either zone
		for _, z := range m.spec.Stretched.Zones {
			if n := len(domains(m.inZone(z), r, false)); n > most {
				most = n
			}
		}
		if parts-most >= copiesInZone {
			return check
		}
	}
	return ""
}

// zonesHealthy returns the condition on zones and on the arbiter: whether the loss of one more is tolerated.
func (m *model) zonesHealthy() ready.Result {
	if !m.isStretched() || m.ceph().String("status", "ceph", "health") == "" {
		return ready.Result{}
	}
	found := func(checks ...string) string {
		var requested []string
		for _, c := range checks {
			if message := m.ceph().String("status", "ceph", "details", c, "message"); message != "" {
				requested = append(requested, c+": "+message)
			}
		}
		return strings.Join(requested, "; ")
	}
	if requested := found(degradedZones, zoneDown); requested != "" {
		return ready.Wait("ZoneDown", "one of the zones %s and %s is down; data is available in the other zone "+
			"only; restore the zone (%s)", m.spec.Stretched.Zones[0], m.spec.Stretched.Zones[1], requested)
	}
	if requested := found(recoveringZones); requested != "" {
		return ready.Wait("Recovering", "the zone is resynchronizing; until that completes, only the other zone has all "+
			"data (%s)", requested)
	}
	if requested := found(monitorDown); requested != "" {
		return ready.Wait("MonitorDown", "a monitor is down: if it is the arbiter in zone %s, the loss of a zone stops all reads and writes "+
			"until it is restored (%s)", m.spec.Stretched.Arbiter.Zone, requested)
	}
	return ready.Result{Ready: true, Reason: "Intact", Message: "both zones and the arbiter are available"}
}
