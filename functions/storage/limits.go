package storage

import (
	"errors"
	"fmt"
	"path"
	"strings"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// hostLabel is the label by which claims and Rook identify a node (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const hostLabel = "kubernetes.io/hostname"

// anyNetwork represents unset networks, which make Ceph's ports reachable from anywhere. Only * allows it. allDevices represents every
// device.
const (
	anyNetwork = "any network"
	allDevices = "all devices"
)

var (
	storageNodes = limit.List{
		Name: "storageNodes", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.StorageNodes) }, Allows: limit.Term,
	}
	storageDevices = limit.List{
		Name: "storageDevices", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.StorageDevices) }, Allows: limit.Match,
	}
	// devicePatterns has the list for values that are patterns themselves: patterns are compared literally.
	devicePatterns = limit.List{
		Name: storageDevices.Name, Of: storageDevices.Of,
		Allows: func(entry, value string) bool { return entry == value || entry == "*" },
	}
	storageNetworks = limit.List{
		Name: "storageNetworks", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.StorageNetworks) }, Allows: limit.Network,
	}
)

// checkLimits rejects nodes, devices, networks and tolerated taints that the platform does not allow for storage of this namespace. Ceph
// controls disks of the node, and mostly its network: permission to select a node is control of it. Control planes that use the cluster
// allow egress of their pods to its networks.
func (m *model) checkLimits() error { //nolint:gocognit // one step after the other
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	var errs []error
	check := func(list limit.List, field string, values ...string) {
		errs = append(errs, list.CheckAny(limits, m.claim.Namespace, field, values))
	}
	if x := m.spec.External; x != nil {
		if len(x.PublicCIDRs) == 0 {
			check(storageNetworks, "spec.external.publicCIDRs", anyNetwork)
		}
		for _, n := range x.PublicCIDRs {
			check(storageNetworks, "spec.external.publicCIDRs", string(n))
		}
		return errors.Join(errs...)
	}
	if len(m.spec.Nodes) == 0 {
		check(storageNodes, "spec.nodeSelector", limit.LabelTerms(m.spec.NodeSelector)...)
	}
	for i, n := range m.spec.Nodes {
		field := fmt.Sprintf("spec.nodes[%d]", i)
		check(storageNodes, field+".name", hostLabel+"="+string(n.Name))
		for j, d := range n.Devices {
			name, place := strings.TrimPrefix(d.Name, "/dev/"), fmt.Sprintf("%s.devices[%d].name", field, j)
			if path.Clean(name) != name || strings.HasPrefix(name, "..") {
				errs = append(errs, invalid.Field(place, "%q is a way to a device, and not its name; write it without . and .. in it", d.Name))
			}
			check(storageDevices, place, name)
		}
	}
	if s := m.spec.DeviceSelector; s != nil {
		switch {
		case s.All:
			check(devicePatterns, "spec.deviceSelector.all", allDevices)
		case s.Filter != "":
			check(devicePatterns, "spec.deviceSelector.filter", s.Filter)
		default:
			check(devicePatterns, "spec.deviceSelector.pathFilter", s.PathFilter)
		}
	}
	for _, t := range m.spec.Tolerations {
		check(limit.Tolerations, "spec.tolerations", limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect))
	}
	if *m.spec.Network.Host && len(m.spec.Network.PublicCIDRs) == 0 {
		check(storageNetworks, "spec.network.publicCIDRs", anyNetwork)
	}
	for _, n := range m.spec.Network.PublicCIDRs {
		check(storageNetworks, "spec.network.publicCIDRs", string(n))
	}
	for _, n := range m.spec.Network.ClusterCIDRs {
		check(storageNetworks, "spec.network.clusterCIDRs", string(n))
	}
	return errors.Join(errs...)
}
