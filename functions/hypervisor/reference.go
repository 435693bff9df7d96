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
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// Names of the requirements for the control plane's claim and its composite resource.
const (
	claimRequirement     = "control-plane-claim"
	compositeRequirement = "control-plane"
)

// controlPlaneOf returns the reference to the control plane.
func controlPlaneOf(namespace string, ref common.ClaimReference) reference.ClaimReference {
	return reference.ClaimReference{
		Kind: controlplanev1.GroupVersionKind.Kind, Ref: ref, Namespace: namespace, Claim: claimRequirement, Composite: compositeRequirement,
	}
}

// requires returns selectors of the claims of the control plane and of the storage, and then of their composite resources, if these claims
// allow this one.
func requires(in function.Input[hypervisorv1.HypervisorCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	controlPlaneOf(in.Claim.Namespace, in.XR.Spec.ControlPlaneRef).Requires(in.Required, out)
	if pool := in.XR.Spec.Storage; pool != nil {
		storagepool.Requires(in.Required, in.Claim.Namespace, *pool, out)
	}
	return out
}

// controlPlaneInfo is the known state of the control plane.
type controlPlaneInfo struct {
	// instance is the namespace of its workloads.
	instance string
	// cluster is the cluster of its workloads, by the platform's name and by its provider config. No name: the management cluster.
	cluster        common.ObjectName
	providerConfig string
	release        release.Release
	access         controlplanev1.HypervisorAccess
	// cell is the pool's cell. Nil: it is unknown.
	cell *controlplanev1.CellAccess
	// waits is the reason why pods cannot be created yet, in a sentence. Empty: none.
	waits string
}

// resolveControlPlane reads the control plane. While the control plane does not publish its state, the last known state is used.
func (m *model) resolveControlPlane(required map[string][]*structpb.Struct) (controlPlaneInfo, error) {
	ref := m.spec.ControlPlaneRef
	xr, ok := controlPlaneOf(m.claim.Namespace, ref).Find(required)
	if !ok {
		return controlPlaneInfo{}, m.notAllowed()
	}
	owner := fmt.Sprintf("control plane %s of namespace %s", ref.Name, ref.Namespace)
	if xr == nil {
		return m.lastKnownControlPlane(fmt.Sprintf("waiting for %s, for which no objects are composed yet", owner)), nil
	}
	c := controlplanev1.ControlPlaneCluster{}
	if err := function.Decode(xr, &c); err != nil {
		return controlPlaneInfo{}, fmt.Errorf("cannot read the %s: %w", owner, err)
	}
	at := controlPlaneInfo{}
	if err := errors.Join(m.resolveCluster(&at, clusterOf(c.Spec.Cluster)), m.checkQueue(at, owner, &c.Spec), m.checkPhysicalNetworks(owner,
		&c.Spec), m.checkZones(owner, &c.Spec)); err != nil {
		return controlPlaneInfo{}, err
	}
	if c.Status.Hypervisors == nil || c.Status.Instance == "" {
		waiting := fmt.Sprintf("waiting for %s to publish its hypervisor access", owner)
		if n := c.Spec.Services.Nova; n == nil || !n.Enabled {
			waiting = fmt.Sprintf("%s has no Nova; set services.nova.enabled to true there", owner)
		}
		return m.lastKnownControlPlane(waiting), nil
	}
	return m.readControlPlane(at, owner, &c.Status)
}

// notAllowed returns the error for a reference to a control plane that does not exist or does not allow this claim. Both cases have the
// same text, so that it does not disclose whether an object exists.
func (m *model) notAllowed() error {
	ref := m.spec.ControlPlaneRef
	return invalid.Field("spec.controlPlaneRef", "there is no ControlPlaneCluster %s in namespace %s that claims of namespace %q may use; "+
		"correct the reference, or ask its owner to add this namespace to spec.allowedNamespaces", ref.Name, ref.Namespace,
		m.claim.Namespace)
}

// clusterOf returns the name of a claim's cluster. Empty: the management cluster.
func clusterOf(c *common.Cluster) common.ObjectName {
	if c == nil || c.Ref == nil {
		return ""
	}
	return c.Ref.Name
}

// readControlPlane reads the status of a control plane in the given cluster.
func (m *model) readControlPlane(at controlPlaneInfo, owner string,
	status *controlplanev1.ControlPlaneClusterStatus) (controlPlaneInfo, error) {
	access := *status.Hypervisors
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
	case n == nil:
		return m.lastKnownControlPlane(fmt.Sprintf("%s has no Neutron; set services.neutron.enabled to true there", owner)), nil
	case n.Mechanism == string(neutronv1.ByOVS):
		if err := m.checkAgents(at, n.Agents); err != nil {
			return controlPlaneInfo{}, err
		}
		if n.Agents == nil {
			return m.lastKnownControlPlane(fmt.Sprintf("waiting for %s to publish how agents connect to its Neutron", owner)), nil
		}
	case n.Southbound == "":
		return m.lastKnownControlPlane(fmt.Sprintf("waiting for the address of OVN's southbound database of %s", owner)), nil
	case n.IssuerRef == nil:
		return controlPlaneInfo{}, invalid.Field("spec.controlPlaneRef", "a HypervisorCluster of a control plane with external OVN "+
			"databases is not implemented in this version: their operator does not issue certificates for it; select another control plane")
	}
	if status.Release == "" {
		return m.lastKnownControlPlane(fmt.Sprintf("waiting for %s to start", owner)), nil
	}
	r, err := release.Parse(status.Release)
	if err != nil {
		return controlPlaneInfo{}, fmt.Errorf("cannot determine the components of the pool: %w", err)
	}
	at.instance, at.release, at.access = status.Instance, r, localAccess(access, access.Cells[i])
	at.cell = &at.access.Cells[0]
	at.waits = unready(owner, m.spec.Cell, status)
	if at.providerConfig == m.cluster {
		return at, nil
	}
	var waiting string
	if at.access, waiting = remoteAccess(at.access, owner); waiting != "" {
		return m.lastKnownControlPlane(waiting), nil
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

// lastKnownControlPlane returns the last known state of the control plane, if any, and the reason for waiting.
func (m *model) lastKnownControlPlane(waiting string) controlPlaneInfo {
	out := controlPlaneInfo{waits: waiting}
	previous := m.previous.ControlPlane
	if previous == nil || len(previous.Access.Cells) != 1 || previous.Access.Cells[0].Name != m.spec.Cell || previous.Access.Networks == nil {
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
	out.instance, out.release, out.access = previous.Instance, r, previous.Access
	out.cell = &out.access.Cells[0]
	return out
}

// controlPlane records the control plane of the pool in a ConfigMap for readers of the namespace, and delays all components that depend on
// the control plane.
func controlPlane(m *model) ([]compose.Stage, error) {
	ref := m.spec.ControlPlaneRef
	data := map[string]string{"claim": string(ref.Namespace) + "/" + string(ref.Name), "cell": m.spec.Cell}
	if m.known() {
		data["instance"], data["release"] = m.plane.instance, string(m.plane.release)
		data["queue"] = m.plane.cell.Queue.Host
		if m.usesOVN() {
			data["southbound"] = m.plane.access.Networks.Southbound
		}
	}
	rule, _ := readiness.Rules.For(configMap)
	return []compose.Stage{{{
		Name: controlPlaneComponent, Object: workload.ConfigMap(m.meta(controlPlaneComponent), data),
		Ready: func(o *observe.Object) ready.Result {
			if m.plane.waits != "" {
				return ready.Wait("ControlPlaneNotReady", "%s", m.plane.waits)
			}
			return rule.Check(o)
		},
	}}}, nil
}
