// Package cloud composes an OpenStackCluster: the claims of its control plane, storage and pools of hypervisors, in its own namespace.
// These claims compose everything else, with the same limits and admission policies as claims of a tenant.
package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// New returns the function of XOpenStackCluster composite resources.
func New() function.Runner {
	return function.Kind[cloudv1.OpenStackCluster, *model]{
		Graph: graph, Rules: readiness.Rules, Requires: requires, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: noVirtualMachines, Verdict: (*model).empty}},
	}
}

// Names of components. The first two are also names of parts.
const (
	storageComponent      = cloudv1.PartStorage
	controlPlaneComponent = cloudv1.PartControlPlane
	poolsComponent        = "hypervisor-pools"
	existingComponent     = "existing-claims"
	orderComponent        = "deletion-order"
)

// graph lists the components of a cloud. A claim is created when the claims to which it refers exist, ready or not: it waits for their
// services itself, and an object store of the storage waits for the control plane.
var graph = compose.Graph[*model]{
	{Name: existingComponent, Phase: common.PhasePending, Enabled: (*model).hasExisting, Build: existing},
	{
		Name: storageComponent, Phase: common.PhaseInfrastructure,
		Enabled: func(m *model) bool { return m.has(storageComponent) }, Build: claimsOf(storageComponent),
	},
	{
		Name: controlPlaneComponent, Phase: common.PhaseCoreServices, Follows: []string{storageComponent},
		Enabled: func(m *model) bool { return m.has(controlPlaneComponent) }, Build: claimsOf(controlPlaneComponent),
	},
	{
		Name: poolsComponent, Phase: common.PhaseCompute, Follows: []string{storageComponent, controlPlaneComponent},
		Enabled: func(m *model) bool { return m.has(poolsComponent) }, Build: claimsOf(poolsComponent),
	},
	{
		Name: orderComponent, Phase: common.PhaseCompute, Follows: []string{storageComponent, controlPlaneComponent, poolsComponent},
		Enabled: func(m *model) bool { return len(m.usages()) > 0 },
		Build:   func(m *model) ([]compose.Stage, error) { return []compose.Stage{m.usages()}, nil },
	},
}.MustValidate()

// model is the input of all builders. derive computes it once per call.
type model struct {
	claim    function.Claim
	instance string
	channel  map[string]string
	spec     cloudv1.OpenStackClusterSpec
	// previous is the status of the last call.
	previous cloudv1.OpenStackClusterStatus
	platform *platformv1.PlatformConfigSpec
	observed observe.State
	// parts are the claims of the cloud, in the order of creation.
	parts []part
}

func derive(in function.Input[cloudv1.OpenStackCluster]) (*model, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	if in.Claim.Name == "" {
		return nil, errors.New("the parts of an OpenStackCluster are claims in its namespace; create an OpenStackCluster, not an " +
			"XOpenStackCluster")
	}
	m := &model{
		claim: base.Claim, instance: base.Instance, channel: in.Channel, platform: base.Platform, spec: in.XR.Spec, previous: in.XR.Status,
		observed: in.Observed,
	}
	if m.parts, err = partsOf(base.Claim, &m.spec); err != nil {
		return nil, err
	}
	for i := range m.parts {
		err = errors.Join(err, m.parts[i].read(in.Required, m.recorded(m.parts[i].name)))
	}
	return m, errors.Join(err, m.checkNames(), m.checkRemoved())
}

// longestName is the maximum length of a claim's name: Crossplane stores it in a label.
const longestName = 63

// checkNames rejects a name with which the name of a claim would be too long.
func (m *model) checkNames() error {
	for _, p := range m.parts {
		if p.spec != nil && len(p.claim.Name) > longestName {
			return invalid.Field("metadata.name", "the name of the %s would be %s, which has %d characters of %d at most; choose a shorter name",
				p.kind.Kind, p.claim.Name, len(p.claim.Name), longestName)
		}
	}
	return nil
}

// checkRemoved rejects a spec without a part whose claim exists and must not be deleted. Crossplane would delete it without the checks of
// the admission policies, which apply to users.
func (m *model) checkRemoved() error {
	var errs []error
	for _, name := range m.observed.Names() {
		if slices.ContainsFunc(m.parts, func(p part) bool { return p.name == name && p.spec != nil }) {
			continue
		}
		o, _ := m.observed.Get(name)
		switch {
		case name == storageComponent:
			errs = append(errs, invalid.Field("spec.storage", "cannot be removed or replaced while the cloud exists: its data would become "+
				"unreachable; restore the previous value"))
		case name == controlPlaneComponent:
			errs = append(errs, invalid.Field("spec.controlPlane", "cannot be replaced: the hypervisors belong to it; restore the previous value"))
		case isPool(name):
			if v := machines(o); !v.Ready {
				errs = append(errs, invalid.Field("spec.hypervisorPools", "pool %s cannot be removed: %s", poolName(name), v.Message))
			}
		}
	}
	return errors.Join(errs...)
}

// has reports whether the claims of a component are composed.
func (m *model) has(component string) bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.component() == component && p.spec != nil })
}

func (m *model) hasExisting() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.spec == nil })
}

func (m *model) meta(name string) object.Meta {
	const app = "openstack-cluster"
	labels := workload.Workload{Name: app, App: app, Instance: m.instance, Component: app}.Labels()
	return object.Meta{Name: name, Namespace: m.claim.Namespace, Labels: labels}
}

// place returns the target of objects: the management cluster.
func place(m *model) respond.Target {
	config := platform.Management(m.platform)
	return respond.Target{Prefix: m.instance, Management: config, Workload: config, DeleteData: m.deletesData()}
}

// deletesData reports whether a claim of the cloud deletes its data with it, by its observed or desired state.
func (m *model) deletesData() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool {
		if p.spec == nil {
			return false
		}
		o, _ := m.observed.Get(p.name)
		return p.spec["deletionPolicy"] == common.DeletionPolicyDelete || o.String("status", "deletionPolicy") == common.DeletionPolicyDelete
	})
}

func status(m *model, plan compose.Plan) any {
	out := cloudv1.OpenStackClusterStatus{
		CloudStatus: common.CloudStatus{
			Phase: plan.Phase(common.PhaseReady), Components: respond.Components(plan, m.previous.Components),
		},
	}
	for _, p := range m.parts {
		out.Parts = append(out.Parts, m.partStatus(p, plan))
		if p.name == controlPlaneComponent {
			reported := p.controlPlane
			if p.spec != nil {
				o, _ := m.observed.Get(p.name)
				reported = controlPlaneStatus(o.Map("status"))
			}
			out.Release, out.Endpoints = reported.Release, reported.Endpoints
		}
	}
	if len(out.Endpoints) == 0 { // The control plane cannot be read at the moment.
		out.Release, out.Endpoints = cmp.Or(out.Release, m.previous.Release), m.previous.Endpoints
	}
	return out
}

// partStatus returns the state of a claim of the cloud. Its flags are pointers, because the encoder omits a false value, which the schema
// requires: the API server would reject the status while a part is not ready.
func (m *model) partStatus(p part, plan compose.Plan) cloudv1.PartStatus {
	out := cloudv1.PartStatus{Name: p.name, Kind: p.kind.Kind, ClaimRef: p.claim, Phase: p.phase}
	if p.spec == nil {
		out.Ready, out.Applied, out.Message = new(p.waits == ""), new(true), respond.Message(p.waits)
		return out
	}
	o, _ := m.observed.Get(p.name)
	out.Phase = o.String("status", "phase")
	for _, i := range plan.Items() {
		if i.Name == p.name {
			hash := i.Body.At("metadata", "annotations", compose.HashAnnotation).Text()
			out.Ready, out.Applied = new(i.Readiness.Ready), new(!i.Observed || o.Annotation(compose.HashAnnotation) == hash)
			if !i.Readiness.Ready {
				out.Message = respond.Message(i.Readiness.Message)
			}
			return out
		}
	}
	component, _ := plan.ComponentStatus(p.component())
	_, why := component.Waiting()
	out.Ready, out.Applied = new(false), new(true) // No claim could be deleted without the edit.
	out.Message = respond.Message(cmp.Or(why, fmt.Sprintf("%s %s is not created yet", p.kind.Kind, p.claim.Name)))
	return out
}
