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
	// zoneLabel is by which Kubernetes and Rook know the zone of a node, zoneDomain what Ceph calls that level of its map.
	zoneLabel  = "topology.kubernetes.io/zone"
	zoneDomain = "zone"
	// stretchCopies are those of everything in two zones, copiesInZone those of one
	// (https://docs.ceph.com/en/latest/rados/operations/stretch-mode/).
	stretchCopies, copiesInZone = 4, 2
)

// Checks of Ceph in stretch mode: it goes on with one zone, and brings the other one up to date when it is back.
const (
	degradedZones   = "DEGRADED_STRETCH_MODE"
	recoveringZones = "RECOVERING_STRETCH_MODE"
	zoneDown        = "OSD_ZONE_DOWN"
	hostDown        = "OSD_HOST_DOWN"
	monitorDown     = "MON_DOWN"
)

// isStretched reports whether two zones both hold all data.
func (m *model) isStretched() bool { return m.spec.Stretched != nil }

// stretchCluster is what Rook is told of zones. It puts two monitors into each that holds data, and the one that decides into the third.
// Rules of pools are its own: no pool has another one. https://rook.io/docs/rook/latest/CRDs/Cluster/stretch-cluster/
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

// arbiterPlacement is where the monitor runs that decides, on nodes that keep no data.
func (m *model) arbiterPlacement() object.Map {
	s := m.spec.Stretched
	if s == nil {
		return nil
	}
	return m.onNodes(object.List{object.Map{"key": zoneLabel, "operator": "In", "values": object.Array(s.Arbiter.Zone)}})
}

// checkArbiterNodes refuses an arbiter on nodes that the platform does not leave to this namespace.
func (m *model) checkArbiterNodes() error {
	s := m.spec.Stretched
	if s == nil {
		return nil
	}
	terms := append(limit.LabelTerms(m.spec.NodeSelector), zoneLabel+"="+string(s.Arbiter.Zone))
	return storageNodes.CheckAny(limit.In(m.platform.Limits, m.claim.Namespace), m.claim.Namespace, "spec.stretched.arbiter.zone", terms)
}

// across is where pods of a file system or an object store run: in both zones, so that one goes with a zone and others stay.
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

// managerPool comes beside the cluster: Rook switches stretch mode on once that pool is there, and calls the cluster ready after that.
func managerPool(m *model) ([]compose.Stage, error) {
	return []compose.Stage{{m.managerPool()}}, nil
}

// inZone are the nodes of a zone, as the claim says.
func (m *model) inZone(zone storagev1.ZoneName) []storagev1.Node {
	var out []storagev1.Node
	for _, n := range m.spec.Nodes {
		if n.Zone == zone {
			out = append(out, n)
		}
	}
	return out
}

// zoneCapacity is how much data fits: each zone holds all of it, twice.
func (m *model) zoneCapacity(r rook.Redundancy) int64 {
	r.FailureDomain = r.Within
	least := int64(-1)
	for _, z := range m.spec.Stretched.Zones {
		if fits := holds(domains(m.inZone(z), r, true), copiesInZone); least < 0 || fits < least {
			least = fits
		}
	}
	return least
}

// checkStretched refuses what Rook or Ceph refuse in stretch mode, or would wait for without an end.
func (m *model) checkStretched() error {
	if !m.isStretched() {
		return m.checkNoZones()
	}
	if s := m.spec.Stretched; len(s.Zones) != 2 || s.Arbiter.Zone == "" { //nolint:mnd // the schema says so, too
		return invalid.Field("spec.stretched", "name two zones that hold data, and a third for the arbiter (arbiter.zone)")
	}
	var errs []error
	refuse := func(field, format string, args ...any) { errs = append(errs, invalid.Field(field, format, args...)) }
	if m.spec.ReplicationFactor != stretchCopies {
		refuse("spec.replicationFactor", "stretched needs 4: two copies in each of two zones")
	}
	if d := m.spec.FailureDomain; d != hostDomain && d != osdDomain {
		refuse("spec.failureDomain", "with stretched this is what the two copies of a zone do not share, host or osd, and not %s", d)
	}
	if monitors, _ := m.daemons(); monitors != 5 && monitors != 3 {
		refuse("spec.monitors.count", "stretched needs 5 monitors, two in each zone and the arbiter, or 3 at least, and not %d", monitors)
	}
	if slices.Contains(m.spec.Stretched.Zones, m.spec.Stretched.Arbiter.Zone) {
		refuse("spec.stretched.arbiter.zone", "the arbiter would fail along with zone %s; name a third one", m.spec.Stretched.Arbiter.Zone)
	}
	if m.spec.DeviceClass != "" {
		refuse("spec.deviceClass", "in stretch mode all pools have the same rule, which takes every device; leave it out, and name devices "+
			"of one class")
	}
	m.forEachRedundancy(func(field string, r storagev1.Redundancy) {
		switch {
		case r.ErasureCoded != nil || r.Replicated != nil && r.Replicated.Size != stretchCopies:
			refuse(field, "stretched needs pools that are replicated with size 4: Ceph refuses others in stretch mode")
		case r.DeviceClass != "" || r.FailureDomain != "":
			refuse(field, "in stretch mode all pools have the same rule; leave deviceClass and failureDomain out")
		}
	})
	return errors.Join(append(errs, m.checkZones()...)...)
}

// forEachRedundancy calls a function with what each pool says of its own, by its field.
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

// checkNoZones refuses zones that nobody reads.
func (m *model) checkNoZones() error {
	for i, n := range m.spec.Nodes {
		if n.Zone != "" {
			return invalid.Field(fmt.Sprintf("spec.nodes[%d].zone", i), "nothing is made of it without stretched: Ceph knows zones by labels of "+
				"nodes; leave it out")
		}
	}
	return nil
}

// checkZones refuses zones that do not hold all data, or have no place for their monitors, as far as the claim names nodes.
func (m *model) checkZones() []error {
	if len(m.spec.Nodes) == 0 {
		return nil
	}
	var errs []error
	s := m.spec.Stretched
	for i, n := range m.spec.Nodes {
		if !slices.Contains(s.Zones, n.Zone) {
			errs = append(errs, invalid.Field(fmt.Sprintf("spec.nodes[%d].zone", i), "a node that keeps data is in one of the two zones %s and "+
				"%s; say which", s.Zones[0], s.Zones[1]))
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
			errs = append(errs, invalid.Field("spec.nodes", "zone %s holds two copies, which do not share a failure domain (%s), and has %s; name "+
				"more there", z, r.Within, countNoun(retained, map[string]string{hostDomain: "node", osdDomain: "device"}[r.Within])))
		}
		if desired := int(monitors-1) / len(s.Zones); len(nodes) < desired {
			errs = append(errs, invalid.Field("spec.monitors.count", "a node has one monitor, and zone %s has %s for %d of them; name more nodes "+
				"there, or want 3 monitors", z, countNoun(len(nodes), "node"), desired))
		}
		sum := int64(0)
		for _, size := range domains(nodes, r, true) {
			sum += size
		}
		sizes = append(sizes, sum)
	}
	if sizes[0] > 0 && sizes[1] > 0 && sizes[0] != sizes[1] {
		errs = append(errs, invalid.Field("spec.nodes", "devices of zone %s have %s, and those of zone %s %s: Ceph takes two zones for one "+
			"cluster only if they weigh the same", s.Zones[0], amount(sizes[0]), s.Zones[1], amount(sizes[1])))
	}
	return errs
}

// zonesWithoutCopy is the check of Ceph by which there may be data of which no copy is left: where both zones are down, or two nodes of the
// one that is left, or as many as there are copies.
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
		most := -1 // that one zone has, whichever is down
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

// zonesIntact is the condition on zones and on the arbiter: whether one more may be lost.
func (m *model) zonesIntact() ready.Result {
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
		return ready.Wait("ZoneDown", "one of the zones %s and %s is away; data is read and written in the other one, which must not be lost as "+
			"well: bring it back (%s)", m.spec.Stretched.Zones[0], m.spec.Stretched.Zones[1], requested)
	}
	if requested := found(recoveringZones); requested != "" {
		return ready.Wait("Recovering", "the zone that was away gets what it has missed; until then the other one must not be lost (%s)", requested)
	}
	if requested := found(monitorDown); requested != "" {
		return ready.Wait("MonitorDown", "a monitor is away: if it is the arbiter in zone %s, nobody reads or writes when a zone is lost "+
			"as well; bring it back (%s)", m.spec.Stretched.Arbiter.Zone, requested)
	}
	return ready.Result{Ready: true, Reason: "Intact", Message: "both zones and the arbiter are there"}
}
