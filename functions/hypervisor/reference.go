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
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// Names under which the control plane's claim and its composite resource are asked for.
const (
	claimRequirement     = "control-plane-claim"
	compositeRequirement = "control-plane"
)

// controlPlaneOf is the reference to the control plane.
func controlPlaneOf(namespace string, ref common.ClaimReference) reference.ClaimReference {
	return reference.ClaimReference{
		Kind: "ControlPlaneCluster", Ref: ref, Namespace: namespace, Claim: claimRequirement, Composite: compositeRequirement,
	}
}

// requires are the claims of the control plane and of the storage, and then the composite resources that these name, if that is any
// business of this claim.
func requires(in function.Input[hypervisorv1.HypervisorCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	controlPlaneOf(in.Claim.Namespace, in.XR.Spec.ControlPlaneRef).Requires(in.Required, out)
	if pool := in.XR.Spec.Storage; pool != nil {
		storagepool.Requires(in.Required, in.Claim.Namespace, *pool, out)
	}
	return out
}

// controlPlaneInfo is what is known of the control plane.
type controlPlaneInfo struct {
	// instance is the namespace of its workloads.
	instance string
	// cluster is the one that they run in, by the platform's name and by its provider config. No name: the management cluster.
	cluster        common.ObjectName
	providerConfig string
	release        release.Release
	access         controlplanev1.HypervisorAccess
	// cell is the pool's. Nil: it is not known.
	cell *controlplanev1.CellAccess
	// waits is what has to happen before pods are created, in a sentence. Empty: nothing.
	waits string
}

// resolveControlPlane reads the control plane. What was known of it holds while it says nothing.
func (m *model) resolveControlPlane(required map[string][]*structpb.Struct) (controlPlaneInfo, error) {
	ref := m.spec.ControlPlaneRef
	xr, ok := controlPlaneOf(m.claim.Namespace, ref).Find(required)
	if !ok {
		return controlPlaneInfo{}, m.refused()
	}
	owner := fmt.Sprintf("control plane %s of namespace %s", ref.Name, ref.Namespace)
	if xr == nil {
		return m.lastKnownControlPlane(fmt.Sprintf("waits for %s, of which nothing is composed yet", owner)), nil
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
		waiting := fmt.Sprintf("waits for %s, which says nothing of its hypervisors yet", owner)
		if n := c.Spec.Services.Nova; n == nil || !n.Enabled {
			waiting = fmt.Sprintf("waits for %s, which has no Nova: services.nova.enabled has to be true there", owner)
		}
		return m.lastKnownControlPlane(waiting), nil
	}
	return m.readControlPlane(at, owner, &c.Status)
}

// refused is the answer to a reference that leads nowhere, whether nobody is there, or somebody who does not consent: what others have is
// nobody's business.
func (m *model) refused() error {
	ref := m.spec.ControlPlaneRef
	return invalid.Field("spec.controlPlaneRef", "there is no ControlPlaneCluster %s in namespace %s that claims of namespace %q may use; "+
		"correct the reference, or have its owner name this namespace in spec.allowedNamespaces there", ref.Name, ref.Namespace,
		m.claim.Namespace)
}

// clusterOf is the name of a claim's cluster. Empty: the management cluster.
func clusterOf(c *common.Cluster) common.ObjectName {
	if c == nil || c.Ref == nil {
		return ""
	}
	return c.Ref.Name
}

// readControlPlane is what a control plane in a cluster says of itself.
func (m *model) readControlPlane(at controlPlaneInfo, owner string, status *controlplanev1.ControlPlaneClusterStatus) (controlPlaneInfo, error) {
	access := *status.Hypervisors
	i := slices.IndexFunc(access.Cells, func(c controlplanev1.CellAccess) bool { return c.Name == m.spec.Cell })
	if i < 0 {
		var known []string
		for _, c := range access.Cells {
			known = append(known, c.Name)
		}
		return controlPlaneInfo{}, invalid.Field("spec.cell", "the %s has no cell %q; choose one of %s", owner, m.spec.Cell, strings.Join(known, ", "))
	}
	n := access.Networks
	switch {
	case n == nil:
		return m.lastKnownControlPlane(fmt.Sprintf("waits for %s, which has no Neutron: services.neutron.enabled has to be true there",
			owner)), nil
	case n.Mechanism == string(neutronv1.ByOVS):
		if err := m.checkAgents(at, n.Agents); err != nil {
			return controlPlaneInfo{}, err
		}
		if n.Agents == nil {
			return m.lastKnownControlPlane(fmt.Sprintf("waits for %s, which does not say yet how agents reach its Neutron", owner)), nil
		}
	case n.Southbound == "":
		return m.lastKnownControlPlane(fmt.Sprintf("waits for OVN's southbound database of %s, whose address is not known yet", owner)), nil
	case n.IssuerRef == nil:
		return controlPlaneInfo{}, invalid.Field("spec.controlPlaneRef", "OVN of that control plane is somebody else's, who issues no certificates to "+
			"pools; that is not built yet in this version")
	}
	if status.Release == "" {
		return m.lastKnownControlPlane(fmt.Sprintf("waits for %s, which does not run yet", owner)), nil
	}
	r, err := release.Parse(status.Release)
	if err != nil {
		return controlPlaneInfo{}, fmt.Errorf("cannot tell what the pool has to run: %w", err)
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

// unready says what the cell lacks before hypervisors can register in it.
func unready(owner, cell string, status *controlplanev1.ControlPlaneClusterStatus) string {
	for _, c := range status.Cells {
		switch {
		case c.Name != cell:
		case c.Phase == common.ComponentReady, c.Phase == common.ComponentUpdating:
			return ""
		default:
			return fmt.Sprintf("waits for cell %s of %s, which is in phase %s", cell, owner, c.Phase)
		}
	}
	return fmt.Sprintf("waits for cell %s of %s, which Nova does not know yet", cell, owner)
}

// lastKnownControlPlane is what was known of the control plane, if anything was, and what is waited for.
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
	// Where the cluster has no name any more, nothing is known: forgotten says so, if there is anything.
	if m.resolveCluster(&out, previous.Cluster) != nil {
		return out
	}
	out.instance, out.release, out.access = previous.Instance, r, previous.Access
	out.cell = &out.access.Cells[0]
	return out
}

// controlPlane says whose the pool is, for whoever looks at the namespace, and holds everything back that needs the control plane.
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
	rule, _ := ready.For(configMap)
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
