package hypervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// requires returns selectors of the claims of the control plane and of the storage, and then of their composite resources, if these claims
// allow this one, and of the WorkloadClusters of all three.
func requires(in function.Input[hypervisorv1.HypervisorCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	plane := controlplane.To(in.Claim.Namespace, in.XR.Spec.ControlPlaneRef, nil)
	plane.Requires(in.Required, out)
	platform.RequireClusterOf(in.Required, in.XR.Spec.Cluster, out)
	if c, _, err := plane.Read(in.Required); err == nil && c != nil {
		platform.RequireCluster(in.Required, controlplane.Cluster(c), out)
	}
	if previous := in.XR.Status.ControlPlane; previous != nil {
		platform.RequireCluster(in.Required, previous.Cluster, out)
	}
	if previous := in.XR.Status.Storage; previous != nil {
		platform.RequireCluster(in.Required, previous.Cluster, out)
	}
	if pool := in.XR.Spec.Storage; pool != nil {
		storagepool.Requires(in.Required, in.Claim.Namespace, *pool, out)
		platform.RequireCluster(in.Required, storagepool.Cluster(in.Required, in.Claim.Namespace, *pool), out)
	}
	return out
}

// controlPlaneInfo is the known state of the control plane.
type controlPlaneInfo struct {
	controlplane.State
	// cluster is the cluster of its workloads, by the platform's name and by its provider config. No name: the management cluster.
	cluster        common.ObjectName
	providerConfig string
	release        release.Release
	access         controlplanev1.HypervisorAccess
	// cell is the pool's cell. Nil: it is unknown.
	cell *controlplanev1.CellAccess
}

// resolveControlPlane reads the control plane. While the control plane does not publish its state, the last known state is used.
func (m *model) resolveControlPlane(required map[string][]*structpb.Struct) (controlPlaneInfo, error) {
	to := controlplane.To(m.claim.Namespace, m.spec.ControlPlaneRef, nil)
	c, ok, err := to.Read(required)
	switch {
	case err != nil:
		return controlPlaneInfo{}, err
	case !ok:
		return controlPlaneInfo{}, to.NotFound("spec.controlPlaneRef")
	case c == nil:
		return controlplane.LastKnown(m.recordedControlPlane(), to.NotComposed()), nil
	}
	owner, at := to.String(), controlPlaneInfo{}
	if err := errors.Join(m.resolveCluster(&at, controlplane.Cluster(c)), m.checkQueue(at, owner, &c.Spec), m.checkPhysicalNetworks(owner,
		&c.Spec), m.checkZones(owner, &c.Spec)); err != nil {
		return controlPlaneInfo{}, err
	}
	if c.Status.Hypervisors == nil || c.Status.Instance == "" {
		waiting := fmt.Sprintf("waiting for %s to publish its hypervisor access", owner)
		if n := c.Spec.Services.Nova; n == nil || !n.Enabled {
			waiting = fmt.Sprintf("%s has no Nova; set services.nova.enabled to true there", owner)
		}
		return controlplane.LastKnown(m.recordedControlPlane(), waiting), nil
	}
	return m.readControlPlane(at, owner, &c.Status)
}

// readControlPlane reads the status of a control plane in the given cluster.
func (m *model) readControlPlane(at controlPlaneInfo, owner string,
	status *controlplanev1.ControlPlaneClusterStatus) (controlPlaneInfo, error) {
	access, recorded := *status.Hypervisors, m.recordedControlPlane()
	i := slices.IndexFunc(access.Cells, func(c controlplanev1.CellAccess) bool { return c.Name == m.spec.Cell })
	if i < 0 {
		var known []string
		for _, c := range access.Cells {
			known = append(known, c.Name)
		}
		return controlPlaneInfo{}, invalid.Field("spec.cell", "the %s has no cell %q; choose one of %s", owner, m.spec.Cell,
			strings.Join(known, ", "))
	}
	n := access.Networks
	switch {
	case access.Identity == nil:
		return controlplane.LastKnown(recorded, fmt.Sprintf("waiting for %s to publish its Keystone, in which the pool has an account",
			owner)), nil
	case n == nil:
		return controlplane.LastKnown(recorded, fmt.Sprintf("%s has no Neutron; set services.neutron.enabled to true there", owner)), nil
	case n.Mechanism == string(neutronv1.ByOVS):
		if err := m.checkAgents(at, n.Agents); err != nil {
			return controlPlaneInfo{}, err
		}
		if n.Agents == nil {
			return controlplane.LastKnown(recorded, fmt.Sprintf("waiting for %s to publish how agents connect to its Neutron", owner)), nil
		}
	case n.Southbound == "":
		return controlplane.LastKnown(recorded, fmt.Sprintf("waiting for the address of OVN's southbound database of %s", owner)), nil
	case n.IssuerRef == nil:
		return controlPlaneInfo{}, invalid.Field("spec.controlPlaneRef", "a HypervisorCluster of a control plane with external OVN "+
			"databases is not implemented in this version: their operator does not issue certificates for it; select another control plane")
	}
	if status.Release == "" {
		return controlplane.LastKnown(recorded, fmt.Sprintf("waiting for %s to start", owner)), nil
	}
	r, err := release.Parse(status.Release)
	if err != nil {
		return controlPlaneInfo{}, fmt.Errorf("cannot determine the components of the pool: %w", err)
	}
	at.Instance, at.release, at.access = status.Instance, r, localAccess(access, access.Cells[i])
	at.cell = &at.access.Cells[0]
	at.Waits = unready(owner, m.spec.Cell, status)
	if at.providerConfig == m.cluster {
		return at, nil
	}
	var waiting string
	if at.access, waiting = remoteAccess(at.access, owner); waiting != "" {
		return controlplane.LastKnown(recorded, waiting), nil
	}
	at.cell = &at.access.Cells[0]
	return at, nil
}

// unready returns the reason why hypervisors cannot register in the cell yet.
func unready(owner, cell string, status *controlplanev1.ControlPlaneClusterStatus) string {
	for _, c := range status.Cells {
		switch {
		case c.Name != cell:
		case c.Phase == common.ComponentReady, c.Phase == common.ComponentUpdating:
			return ""
		default:
			return fmt.Sprintf("waiting for cell %s of %s, which is in phase %s", cell, owner, c.Phase)
		}
	}
	return fmt.Sprintf("waiting for cell %s of %s, which is not registered in Nova yet", cell, owner)
}

// recordedControlPlane returns the state of the control plane that the previous status recorded, if any.
func (m *model) recordedControlPlane() controlPlaneInfo {
	out := controlPlaneInfo{}
	previous := m.previous.ControlPlane
	if previous == nil || len(previous.Access.Cells) != 1 || previous.Access.Cells[0].Name != m.spec.Cell || previous.Access.Networks == nil ||
		previous.Access.Identity == nil {
		return out
	}
	r, err := release.Parse(previous.Release)
	if err != nil {
		return out
	}
	// If the name of the cluster no longer resolves, the state is unknown. checkInputsKnown then returns an error if pods exist.
	if m.resolveCluster(&out, previous.Cluster) != nil {
		return out
	}
	out.Instance, out.release, out.access = previous.Instance, r, previous.Access
	out.cell = &out.access.Cells[0]
	return out
}

// controlPlane records the control plane of the pool in a ConfigMap for readers of the namespace, and delays all components that depend on
// the control plane.
func controlPlane(m *model) ([]compose.Stage, error) {
	ref := m.spec.ControlPlaneRef
	data := map[string]string{"claim": string(ref.Namespace) + "/" + string(ref.Name), "cell": m.spec.Cell}
	if m.known() {
		data["instance"], data["release"] = m.plane.Instance, string(m.plane.release)
		data["queue"] = m.plane.cell.Queue.Host
		if m.usesOVN() {
			data["southbound"], _ = m.southbound()
		}
	}
	return controlplane.Record(m.meta(controlPlaneComponent), data, m.plane.Waits), nil
}
