// Package keystoneservice composes a KeystoneService: the account and catalog entries of a custom service in the Keystone of a control
// plane, and the Secret of its login.
package keystoneservice

import (
	"errors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
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
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// New returns the function of XKeystoneService composite resources.
func New() function.Runner {
	return function.Kind[keystoneservicev1.KeystoneService, *model]{
		Graph: graph, Rules: readiness.Rules, Requires: requires, Derive: derive, Target: place, Status: status,
	}
}

// Names of components.
const (
	controlPlaneComponent = controlplane.Component
	companionComponent    = "companion-access"
	networkComponent      = "network"
	accountComponent      = "account"
	catalogComponent      = "catalog"
	secretComponent       = "secret"
	inUseComponent        = "in-use"
)

// graph lists the components of a service in Keystone, and their dependencies. All but the first are deleted when the control plane revokes
// its consent.
var graph = compose.Graph[*model]{
	{Name: controlPlaneComponent, Phase: common.PhasePending, Build: controlPlane},
	{
		Name: inUseComponent, Phase: common.PhaseIdentity, Needs: []string{controlPlaneComponent},
		Enabled: (*model).granted, Build: inUse,
	},
	{
		Name: companionComponent, Phase: common.PhaseIdentity, Needs: []string{controlPlaneComponent},
		Enabled: (*model).granted, Build: companionAccess,
	},
	{
		Name: networkComponent, Phase: common.PhaseIdentity, Needs: []string{controlPlaneComponent},
		Enabled: (*model).granted, Build: network,
	},
	{
		Name: accountComponent, Phase: common.PhaseIdentity, Needs: []string{companionComponent},
		Enabled: (*model).granted, Build: account,
	},
	{
		Name: catalogComponent, Phase: common.PhaseCatalog, Needs: []string{companionComponent},
		Enabled: func(m *model) bool { return m.granted() && len(m.catalogEntries()) > 0 }, Build: catalog,
	},
	{
		Name: secretComponent, Phase: common.PhaseCatalog, Needs: []string{accountComponent},
		Enabled: (*model).granted, Build: func(m *model) ([]compose.Stage, error) { return m.secretSet().Stages(), nil },
	},
}.MustValidate()

// model is the input of all builders. derive computes it once per call.
type model struct {
	claim function.Claim
	// instance is the name prefix of this claim's objects in the control plane's namespace, and its user in Keystone. It is unique.
	instance string
	spec     keystoneservicev1.KeystoneServiceSpec
	// previous is the status of the last call.
	previous keystoneservicev1.KeystoneServiceStatus
	platform *platformv1.PlatformConfigSpec
	plane    controlPlaneInfo
	observed observe.State
}

func derive(in function.Input[keystoneservicev1.KeystoneService]) (*model, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	if in.Claim.Name == "" {
		return nil, errors.New("a KeystoneService has its Secret in the namespace of its claim; make a claim (KeystoneService), and not an " +
			"XKeystoneService")
	}
	m := &model{
		claim: base.Claim, instance: base.Instance, platform: base.Platform, spec: in.XR.Spec, previous: in.XR.Status, observed: in.Observed,
	}
	if len(m.spec.Account.Roles) == 0 { // The schema's default, for callers that bypass the API server.
		m.spec.Account.Roles = []keystoneservicev1.Role{keystoneservicev1.RoleService}
	}
	if ref := m.spec.ControlPlaneRef; ref.Namespace == "" || ref.Name == "" { // The schema requires both.
		return nil, invalid.Field("spec.controlPlaneRef", "it names no control plane; give its namespace and name")
	}
	if err := syntax.Check("spec", &m.spec); err != nil {
		return nil, err
	}
	for _, e := range m.catalogEntries() { // Admission rejects this, too.
		if e.Type.Reserved() {
			return nil, invalid.Field(e.field+".type", "%q is the type of a service of OpenStack's own; choose another", e.Type)
		}
	}
	m.plane, err = m.resolveControlPlane(in.Required)
	return m, err
}

// name returns the name prefix of objects in the claim's namespace.
func (m *model) name() string { return keystoneservicev1.SecretName(m.claim.Name) }

// sub returns the name of an object in the control plane's namespace.
func (m *model) sub(part string) string { return m.instance + "-" + part }

// claimMeta returns the metadata of an object in the claim's namespace, controlPlaneMeta of one in the control plane's.
func (m *model) claimMeta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.claim.Namespace, Labels: m.labels()}
}

func (m *model) controlPlaneMeta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.plane.Instance, Labels: m.labels()}
}

func (m *model) labels() map[string]string {
	const app = "keystone-service"
	return workload.Workload{Name: app, App: app, Instance: m.instance, Component: app}.Labels()
}

// place returns the default target of objects: the management cluster.
func place(m *model) respond.Target {
	config := platform.Management(m.platform)
	return respond.Target{Prefix: m.instance, Management: config, Workload: config}
}

func status(m *model, plan compose.Plan) any {
	out := keystoneservicev1.KeystoneServiceStatus{
		CloudStatus: common.CloudStatus{
			Phase: plan.Phase(common.PhaseReady), Components: respond.Components(plan, m.previous.Components),
		},
	}
	if m.granted() {
		out.ControlPlaneInstance = m.plane.Instance
		out.Account = &keystoneservicev1.Account{
			AuthURL: m.plane.identityURL, Region: m.plane.region,
			User: m.instance, UserDomain: common.DefaultDomain, Project: common.ServiceProject, ProjectDomain: common.DefaultDomain,
			SecretName: common.ObjectName(m.name()),
		}
	}
	return out
}

// controlPlane returns a description of the control plane for messages.
func (m *model) controlPlane() string {
	return controlPlaneOf(m.claim, m.spec.ControlPlaneRef).String()
}
