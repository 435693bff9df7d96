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
func controlPlaneOf(namespace string, ref common.ClaimReference) reference.To {
	return reference.To{
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

// plane is what is known of the control plane.
type plane struct {
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

// findPlane reads the control plane. What was known of it holds while it says nothing.
func (m *model) findPlane(required map[string][]*structpb.Struct) (plane, error) {
	ref := m.spec.ControlPlaneRef
	xr, ok := controlPlaneOf(m.claim.Namespace, ref).Find(required)
	if !ok {
		return plane{}, m.refused()
	}
	whose := fmt.Sprintf("control plane %s of namespace %s", ref.Name, ref.Namespace)
	if xr == nil {
		return m.remembered(fmt.Sprintf("waits for %s, of which nothing is composed yet", whose)), nil
	}
	c := controlplanev1.ControlPlaneCluster{}
	if err := function.Decode(xr, &c); err != nil {
		return plane{}, fmt.Errorf("cannot read the %s: %w", whose, err)
	}
	at := plane{}
	if err := errors.Join(m.locate(&at, clusterOf(c.Spec.Cluster)), m.checkQueue(at, whose, &c.Spec), m.checkPhysicalNetworks(whose,
		&c.Spec), m.checkZones(whose, &c.Spec)); err != nil {
		return plane{}, err
	}
	if c.Status.Hypervisors == nil || c.Status.Instance == "" {
		waits := fmt.Sprintf("waits for %s, which says nothing of its hypervisors yet", whose)
		if n := c.Spec.Services.Nova; n == nil || !n.Enabled {
			waits = fmt.Sprintf("waits for %s, which has no Nova: services.nova.enabled has to be true there", whose)
		}
		return m.remembered(waits), nil
	}
	return m.readPlane(at, whose, &c.Status)
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

// readPlane is what a control plane in a cluster says of itself.
func (m *model) readPlane(at plane, whose string, status *controlplanev1.ControlPlaneClusterStatus) (plane, error) {
	access := *status.Hypervisors
	i := slices.IndexFunc(access.Cells, func(c controlplanev1.CellAccess) bool { return c.Name == m.spec.Cell })
	if i < 0 {
		var known []string
		for _, c := range access.Cells {
			known = append(known, c.Name)
		}
		return plane{}, invalid.Field("spec.cell", "the %s has no cell %q; choose one of %s", whose, m.spec.Cell, strings.Join(known, ", "))
	}
	n := access.Networks
	switch {
	case n == nil:
		return m.remembered(fmt.Sprintf("waits for %s, which has no Neutron: services.neutron.enabled has to be true there",
			whose)), nil
	case n.Mechanism == string(neutronv1.ByOVS):
		if err := m.checkAgents(at, n.Agents); err != nil {
			return plane{}, err
		}
		if n.Agents == nil {
			return m.remembered(fmt.Sprintf("waits for %s, which does not say yet how agents reach its Neutron", whose)), nil
		}
	case n.Southbound == "":
		return m.remembered(fmt.Sprintf("waits for OVN's southbound database of %s, whose address is not known yet", whose)), nil
	case n.IssuerRef == nil:
		return plane{}, invalid.Field("spec.controlPlaneRef", "OVN of that control plane is somebody else's, who issues no certificates to "+
			"pools; that is not built yet in this version")
	}
	if status.Release == "" {
		return m.remembered(fmt.Sprintf("waits for %s, which does not run yet", whose)), nil
	}
	r, err := release.Parse(status.Release)
	if err != nil {
		return plane{}, fmt.Errorf("cannot tell what the pool has to run: %w", err)
	}
	at.instance, at.release, at.access = status.Instance, r, ofPool(access, access.Cells[i])
	at.cell = &at.access.Cells[0]
	at.waits = unready(whose, m.spec.Cell, status)
	if at.providerConfig == m.cluster {
		return at, nil
	}
	var waits string
	if at.access, waits = reach(at.access, whose); waits != "" {
		return m.remembered(waits), nil
	}
	at.cell = &at.access.Cells[0]
	return at, nil
}

// unready says what the cell lacks before hypervisors can register in it.
func unready(whose, cell string, status *controlplanev1.ControlPlaneClusterStatus) string {
	for _, c := range status.Cells {
		switch {
		case c.Name != cell:
		case c.Phase == common.ComponentReady, c.Phase == common.ComponentUpdating:
			return ""
		default:
			return fmt.Sprintf("waits for cell %s of %s, which is in phase %s", cell, whose, c.Phase)
		}
	}
	return fmt.Sprintf("waits for cell %s of %s, which Nova does not know yet", cell, whose)
}

// remembered is what was known of the control plane, if anything was, and what is waited for.
func (m *model) remembered(waits string) plane {
	out := plane{waits: waits}
	was := m.previous.ControlPlane
	if was == nil || len(was.Access.Cells) != 1 || was.Access.Cells[0].Name != m.spec.Cell || was.Access.Networks == nil {
		return out
	}
	r, err := release.Parse(was.Release)
	if err != nil {
		return out
	}
	// Where the cluster has no name any more, nothing is known: forgotten says so, if there is anything.
	if m.locate(&out, was.Cluster) != nil {
		return out
	}
	out.instance, out.release, out.access = was.Instance, r, was.Access
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
		if m.byOVN() {
			data["southbound"] = m.plane.access.Networks.Southbound
		}
	}
	rule, _ := ready.For(configMap)
	return []compose.Stage{{{
		Name: controlPlaneComponent, Object: workload.ConfigMap(m.meta(controlPlaneComponent), data),
		Ready: func(o *observe.Object) ready.Verdict {
			if m.plane.waits != "" {
				return ready.Wait("ControlPlaneNotReady", "%s", m.plane.waits)
			}
			return rule.Check(o)
		},
	}}}, nil
}
