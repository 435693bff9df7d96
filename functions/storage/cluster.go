package storage

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

const (
	// clusterResource is the composed resource of the CephCluster, cephName its object name. A namespace has at most one.
	clusterResource = "ceph"
	cephName        = "ceph"
	// hostDomain and osdDomain are the CRUSH levels that the spec distinguishes.
	hostDomain, osdDomain = "host", "osd"
)

// daemons returns the number of monitors and managers.
func (m *model) daemons() (monitors, managers int32) {
	monitors, managers = 3, 2
	n := len(m.spec.Nodes)
	switch {
	case m.isStretched():
		monitors = 5
	case n > 0 && n < int(monitors):
		monitors = 1
	}
	if len(m.spec.Nodes) == 1 {
		managers = 1
	}
	if mon := m.spec.Monitors; mon != nil {
		monitors = ptr.Deref(mon.Count, monitors)
	}
	if mgr := m.spec.Managers; mgr != nil {
		managers = ptr.Deref(mgr.Count, managers)
	}
	return monitors, managers
}

// checkDaemons rejects more daemons than nodes: Rook would wait forever for a free node.
func (m *model) checkDaemons() error {
	monitors, managers := m.daemons()
	nodes := len(m.spec.Nodes)
	switch {
	case nodes == 0:
		return nil // The number of labeled nodes is unknown.
	case m.isStretched(): // The arbiter is on another node, and the other monitors follow the zones.
	case int(monitors) > nodes:
		return invalid.Field("spec.monitors.count", "a node has one monitor, and there are %s for %d of them; name more nodes, or want "+
			"fewer monitors", countNoun(nodes, "node"), monitors)
	case int(managers) > nodes:
		return invalid.Field("spec.managers.count", "a node has one manager, and there are %s for %d of them; name more nodes, or want "+
			"fewer managers", countNoun(nodes, "node"), managers)
	}
	return nil
}

// countNoun returns a number with a noun.
func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// cluster builds the CephCluster. It is ready if Rook's rule holds, capacity exists and all data is available: Rook reports a cluster ready
// before the first OSD stores data, and even if Ceph reports an error. Ceph reports unavailable data as a warning, and reports nothing if
// all copies are lost.
func cluster(m *model) ([]compose.Stage, error) {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: rook.Group, Kind: "CephCluster"})
	return []compose.Stage{{{
		Name: clusterResource, Retain: true, Object: rook.Cluster(m.meta(cephName), m.cephSpec()),
		Ready: func(o *observe.Object) ready.Result {
			if v := rule.Check(o); !v.Ready {
				return v
			}
			if o.String("status", "ceph", "health") == healthError {
				return ready.Wait(healthError, "%s", details(o))
			}
			if o.String("status", "ceph", "details", unreachable, "message") != "" {
				return ready.Wait(unreachable, "%s", details(o))
			}
			if check := m.withoutCopy(o); check != "" {
				return ready.Wait(check, "%s", details(o))
			}
			if total, ok := o.Int("status", "ceph", "capacity", "bytesTotal"); !ok || total == 0 {
				return ready.Wait("NoDevices", "waiting for an OSD: no device is in use yet. Rook uses empty devices only; see the logs of the pods "+
					"rook-ceph-osd-prepare for the reason")
			}
			return ready.Yes
		},
	}}}, nil
}

// cephSpec returns the spec of the CephCluster. https://rook.io/docs/rook/latest/CRDs/Cluster/ceph-cluster-crd/
func (m *model) cephSpec() object.Map {
	monitors, managers := m.daemons()
	return object.Map{
		"cephVersion": object.Map{"image": m.image},
		// Two Ceph clusters on the same node use different folders.
		"dataDirHostPath": "/var/lib/rook/" + m.instance,
		"mon":             m.cephMonitors(monitors),
		"mgr":             object.Map{"count": int64(managers), "allowMultiplePerNode": false},
		"dashboard":       m.dashboardSpec(),
		"monitoring":      object.Map{"enabled": false},
		"network":         m.cephNetwork(),
		"storage":         m.cephStorage(),
		"placement":       object.WithOptional(object.Map{"all": m.placement()}, object.Map{"arbiter": m.arbiterPlacement()}),
		"resources":       m.cephResources(),
		// Rook upgrades daemon by daemon, monitors first, and stops if Ceph would become unhealthy.
		"skipUpgradeChecks": false, "continueUpgradeAfterChecksEvenIfNotHealthy": false, "upgradeOSDRequiresHealthyPGs": true,
		"disruptionManagement": object.Map{"managePodBudgets": true},
		"priorityClassNames": object.Map{
			"mon": "system-node-critical", "osd": "system-node-critical", "mgr": "system-cluster-critical",
		},
		// Nothing is wiped: with a confirmation here, Rook stops reconciling the cluster, and wipes the disks once it is deleted.
		"cleanupPolicy": object.Map{"confirmation": ""},
		// Otherwise Rook automatically removes an OSD whose data is on other devices; that decision is left to an administrator.
		"removeOSDsIfOutAndSafeToRemove": false,
		"cephConfig":                     m.cephConfig(),
	}
}

func (m *model) cephMonitors(count int32) object.Map {
	return object.WithOptional(object.Map{"count": int64(count), "allowMultiplePerNode": false},
		object.Map{"stretchCluster": m.stretchCluster()})
}

// cephConfig returns options of Ceph. Pools that Ceph itself creates have as many copies as the others; otherwise Ceph would permanently
// warn that there are too few devices for three. It would also warn permanently of pools with one copy, which the claim had to confirm with
// allowDataLoss, and this would hide other problems in its health
// (https://docs.ceph.com/en/latest/rados/operations/health-checks/#pool-no-redundancy).
func (m *model) cephConfig() object.Map {
	options := object.Map{"osd_pool_default_size": strconv.Itoa(int(m.spec.ReplicationFactor))}
	if slices.ContainsFunc(m.redundancies(), func(r rook.Redundancy) bool { return r.Copies == 1 }) {
		options["mon_warn_on_pool_no_redundancy"] = "false"
	}
	return object.Map{"global": options}
}

// cephFamily returns the address family at which daemons listen: the family of the networks, or of the pods. An existing cluster without
// networks keeps its family. Empty: Ceph's default, IPv4 (https://rook.io/docs/rook/latest/CRDs/Cluster/network-providers/#ip-family).
func (m *model) cephFamily() string {
	existing, _ := m.observed.Get(clusterResource)
	switch family := familyOf(append(texts(m.spec.Network.PublicCIDRs), texts(m.spec.Network.ClusterCIDRs)...)); {
	case family == string(common.IPv6):
		return family
	case family != "":
		return "" // Rook's default, so that existing clusters do not change.
	case existing.Exists():
		return existing.String("spec", "network", "ipFamily")
	default:
		return string(platform.IPFamily(m.platform, m.cluster))
	}
}

// familyOf returns the address family of networks, which checkNetworks compares. Empty: none.
func familyOf(networks []string) string {
	for _, n := range networks {
		if p, err := netip.ParsePrefix(n); err == nil {
			if p.Addr().Is4() {
				return "IPv4"
			}
			return string(common.IPv6)
		}
	}
	return ""
}

// checkFamily returns an error for networks whose family differs from the family of the existing cluster: monitors keep their addresses,
// and daemons of different families cannot connect.
func (m *model) checkFamily() error {
	existing, _ := m.observed.Get(clusterResource)
	wanted := familyOf(append(texts(m.spec.Network.PublicCIDRs), texts(m.spec.Network.ClusterCIDRs)...))
	if !existing.Exists() || wanted == "" {
		return nil
	}
	var ranges []string
	for _, name := range []string{"public", "cluster"} {
		for _, n := range existing.List("spec", "network", "addressRanges", name) {
			ranges = append(ranges, fmt.Sprint(n))
		}
	}
	family := cmp.Or(familyOf(ranges), existing.String("spec", "network", "ipFamily"), "IPv4")
	if family == wanted {
		return nil
	}
	return invalid.Field("spec.network", "the Ceph cluster listens at addresses of %s, and its monitors keep their addresses; "+
		"use networks of %[1]s, or create another claim", family)
}

func (m *model) cephNetwork() object.Map {
	n := m.spec.Network
	out := object.WithOptional(object.Map{}, object.Map{"ipFamily": m.cephFamily()})
	if *n.Host {
		out["provider"] = "host"
	}
	if len(n.PublicCIDRs)+len(n.ClusterCIDRs) > 0 {
		ranges := object.Map{}
		if len(n.PublicCIDRs) > 0 {
			ranges["public"] = object.Array(n.PublicCIDRs...)
		}
		if len(n.ClusterCIDRs) > 0 {
			ranges["cluster"] = object.Array(n.ClusterCIDRs...)
		}
		out["addressRanges"] = ranges
	}
	// Only msgr2 encrypts, so that encryption disables msgr1.
	out["connections"] = object.Map{
		"encryption": object.Map{"enabled": n.Encryption}, "compression": object.Map{"enabled": false}, "requireMsgr2": n.Encryption,
	}
	return out
}

func (m *model) cephStorage() object.Map {
	out := object.Map{"useAllNodes": m.spec.DeviceSelector != nil, "useAllDevices": false}
	if m.spec.OSDs != nil && m.spec.OSDs.Encrypted {
		out["config"] = object.Map{"encryptedDevice": "true"}
	}
	if s := m.spec.DeviceSelector; s != nil {
		out["useAllDevices"] = s.All
		return object.WithOptional(out, object.Map{"deviceFilter": s.Filter, "devicePathFilter": s.PathFilter})
	}
	nodes := object.List{}
	for _, n := range m.spec.Nodes {
		devices := object.List{}
		for _, d := range n.Devices {
			device := object.Map{"name": d.Name}
			if d.DeviceClass != "" {
				device["config"] = object.Map{"deviceClass": string(d.DeviceClass)}
			}
			devices = append(devices, device)
		}
		nodes = append(nodes, object.Map{"name": string(n.Name), "devices": devices})
	}
	out["nodes"] = nodes
	return out
}

// placement restricts all daemons to the nodes that the claim selects.
func (m *model) placement() object.Map {
	var expressions object.List
	if len(m.spec.Nodes) > 0 {
		values := object.List{}
		for _, n := range m.spec.Nodes {
			values = append(values, string(n.Name))
		}
		expressions = append(expressions, object.Map{"key": hostLabel, "operator": "In", "values": values})
	}
	if s := m.spec.Stretched; s != nil {
		expressions = append(expressions, object.Map{"key": zoneLabel, "operator": "In", "values": object.Array(s.Zones...)})
	}
	return m.onNodes(expressions)
}

// onNodes returns a placement on nodes with the claim's node labels, and with other expressions.
func (m *model) onNodes(others object.List) object.Map {
	var expressions object.List
	for _, k := range slices.Sorted(maps.Keys(m.spec.NodeSelector)) {
		expressions = append(expressions, object.Map{
			"key": k, "operator": "In", "values": object.Array(string(m.spec.NodeSelector[k])),
		})
	}
	expressions = append(expressions, others...)
	return object.WithOptional(object.Map{
		"nodeAffinity": object.Map{"requiredDuringSchedulingIgnoredDuringExecution": object.Map{
			"nodeSelectorTerms": object.List{object.Map{"matchExpressions": expressions}},
		}},
	}, object.Map{"tolerations": object.Tolerations(m.spec.Tolerations)})
}

// cephResources returns the resources of daemons.
func (m *model) cephResources() object.Map {
	mon := ptr.Deref(m.spec.Monitors, storagev1.Monitors{}).Resources
	mgr := ptr.Deref(m.spec.Managers, storagev1.Managers{}).Resources
	osd := ptr.Deref(m.spec.OSDs, storagev1.OSDs{}).Resources
	return object.Map{
		"mon": object.Resources(cmp.Or(mon, monitorResources)),
		"mgr": object.Resources(cmp.Or(mgr, managerResources)),
		"osd": object.Resources(cmp.Or(osd, osdResources)),
	}
}
