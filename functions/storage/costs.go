package storage

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Resources of daemons without their own in the claim. They are from Rook's chart
// (https://github.com/rook/rook/blob/v1.20.6/deploy/charts/rook-ceph-cluster/values.yaml). An OSD sizes its cache by its memory limit.
var (
	monitorResources = workload.Resources("1", "1Gi", "2Gi")
	managerResources = workload.Resources("500m", "512Mi", "1Gi")
	osdResources     = workload.Resources("1", "4Gi", "4Gi")
	mirrorResources  = workload.Resources("100m", "512Mi", "1Gi")
	nfsResources     = workload.Resources("500m", "1Gi", "1Gi")
)

// checkCosts returns an error for daemons above the maxima of the platform. The number of OSDs is the number of devices, which the lists
// storageNodes and storageDevices limit: a maximum applies to each OSD.
func (m *model) checkCosts() error {
	if m.isExternal() {
		return nil
	}
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	osd := cost.Item{
		Field: "spec.osds", Replicas: 1, Resources: cmp.Or(ptr.Deref(m.spec.OSDs, storagev1.OSDs{}).Resources, osdResources),
	}
	return errors.Join(cost.Check(limits, m.costs()), cost.CheckNode(limits, []cost.Item{osd}))
}

// costs returns the costs of all daemons except the OSDs.
func (m *model) costs() []cost.Item {
	monitors, managers := m.daemons()
	of := func(field, count string, n int32, own, defaults *common.Resources) cost.Item {
		return cost.Item{Field: field, Count: count, Replicas: n, Resources: cmp.Or(own, defaults)}
	}
	out := []cost.Item{
		of("spec.monitors", "count", monitors, ptr.Deref(m.spec.Monitors, storagev1.Monitors{}).Resources, monitorResources),
		of("spec.managers", "count", managers, ptr.Deref(m.spec.Managers, storagev1.Managers{}).Resources, managerResources),
	}
	if r := m.spec.Mirroring; r != nil {
		out = append(out, of("spec.mirroring", "daemons", r.Daemons, r.Resources, mirrorResources))
	}
	for i, f := range m.spec.Filesystems {
		servers := of(fmt.Sprintf("spec.filesystems[%d]", i), "metadataServers", f.MetadataServers, f.Resources, nil)
		servers.Times = 2 // Each has another one on standby.
		out = append(out, servers)
	}
	for i, o := range m.spec.ObjectStores {
		out = append(out, of(fmt.Sprintf("spec.objectStores[%d]", i), "gateways", o.Gateways, o.Resources, nil))
	}
	for i, n := range m.spec.NFS {
		servers := of(fmt.Sprintf("spec.nfs[%d]", i), "servers", n.Servers, n.Resources, nfsResources)
		servers.Times = 2 // Rook applies the resources to the sidecar, too.
		out = append(out, servers)
	}
	return out
}
