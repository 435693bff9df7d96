package keystoneservice

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// controlPlaneKind is the kind of the claim that is referred to.
const controlPlaneKind = "ControlPlaneCluster"

// controlPlaneOf is the reference to the control plane. Here it is not a namespace that it lets in, but each service by the name of its
// claim: an account in a cloud is more than a neighbour.
func controlPlaneOf(claim function.Claim, ref common.ClaimReference) reference.ClaimReference {
	return reference.ClaimReference{
		Kind: controlPlaneKind, Ref: ref, Namespace: claim.Namespace, Claim: "control-plane-claim", Composite: "control-plane",
		Consents: func(spec *structpb.Struct) bool { _, ok := grantOf(spec, claim); return ok },
	}
}

// grantOf is what a control plane's spec lets a claim have.
func grantOf(spec *structpb.Struct, claim function.Claim) (controlplanev1.KeystoneServiceGrant, bool) {
	requested := controlplanev1.ControlPlaneClusterSpec{}
	part := &structpb.Struct{Fields: map[string]*structpb.Value{"keystoneServices": spec.GetFields()["keystoneServices"]}}
	if spec.GetFields()["keystoneServices"] == nil || function.Decode(part, &requested) != nil {
		return controlplanev1.KeystoneServiceGrant{}, false
	}
	i := slices.IndexFunc(requested.KeystoneServices, func(g controlplanev1.KeystoneServiceGrant) bool {
		return string(g.Namespace) == claim.Namespace && string(g.Name) == claim.Name
	})
	if i < 0 {
		return controlplanev1.KeystoneServiceGrant{}, false
	}
	return requested.KeystoneServices[i], true
}

// requires are the claim of the control plane, and then the composite resource that it names, if that is any business of this claim.
func requires(in function.Input[keystoneservicev1.KeystoneService]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	controlPlaneOf(in.Claim, in.XR.Spec.ControlPlaneRef).Requires(in.Required, out)
	return out
}

// controlPlaneInfo is what is known of the control plane.
type controlPlaneInfo struct {
	// instance is the namespace of its workloads. Empty: it is not known, or the control plane has taken its consent back.
	instance    string
	identityURL common.URL
	region      string
	// waits is what has to happen, in a sentence. Empty: nothing.
	waits string
}

// granted says that the control plane lets the service in, and that enough is known of it.
func (m *model) granted() bool { return m.plane.instance != "" }

// resolveControlPlane reads the control plane.
//
// A claim that was never let in is refused. Of one that was, what is there goes as soon as the control plane is there and lets it in no
// more, or not as it is: whoever gave consent must be able to end it, whatever the claim's owner does. What cannot be asked has taken
// nothing back: then what was known of it holds.
func (m *model) resolveControlPlane(required reference.Required) (controlPlaneInfo, error) {
	to := controlPlaneOf(m.claim, m.spec.ControlPlaneRef)
	grant, granted := m.observedGrant(), true
	if to.Exists(required) {
		grant, granted = grantOf(required[to.Claim][0].GetFields()["spec"].GetStructValue(), m.claim)
	}
	xr, ok := to.Find(required)
	rejected := m.refused()
	switch {
	case !ok && !m.admitted():
		return controlPlaneInfo{}, rejected
	case !granted:
		return controlPlaneInfo{waits: rejected.Error()}, nil
	}
	wrong := m.checkGrant(grant)
	if wrong != nil && !m.admitted() {
		return controlPlaneInfo{}, wrong
	}
	m.limit(grant)
	var out controlPlaneInfo
	var err error
	switch {
	case !ok:
		out = m.lastKnownControlPlane(rejected.Error())
	case xr == nil:
		out = m.lastKnownControlPlane(fmt.Sprintf("waits for the %s, of which nothing is composed yet", m.whose()))
	default:
		out, err = m.readControlPlane(xr)
	}
	if err == nil && wrong != nil {
		out.waits = wrong.Error()
	}
	return out, err
}

// readControlPlane is what a control plane says of itself.
func (m *model) readControlPlane(xr *structpb.Struct) (controlPlaneInfo, error) {
	c := controlplanev1.ControlPlaneCluster{}
	if err := function.Decode(xr, &c); err != nil {
		return controlPlaneInfo{}, fmt.Errorf("cannot read the %s: %w", m.whose(), err)
	}
	if c.Spec.Cluster != nil && c.Spec.Cluster.Ref != nil {
		return controlPlaneInfo{}, invalid.Field("spec.controlPlaneRef", "that control plane runs in another cluster, and services of one's own are let "+
			"in here; those beside such a control plane are not built yet in this version")
	}
	i := slices.IndexFunc(c.Status.Endpoints, func(e common.Endpoint) bool { return e.Service == keystonev1.ServiceName })
	if c.Status.Instance == "" || i < 0 || !there(c.Status.Components) {
		return m.lastKnownControlPlane(fmt.Sprintf("waits for the %s, whose catalog is not there yet", m.whose())), nil
	}
	return controlPlaneInfo{instance: c.Status.Instance, identityURL: c.Status.Endpoints[i].Internal, region: c.Spec.Global.Region}, nil
}

// there says that the control plane has a catalog, and with it the project of the services.
func there(components []common.ComponentStatus) bool {
	return slices.ContainsFunc(components, func(c common.ComponentStatus) bool {
		return c.Name == catalogComponent && (c.Phase == common.ComponentReady || c.Phase == common.ComponentUpdating)
	})
}

// refused is the answer to a reference that leads nowhere, whether nobody is there, or somebody who does not consent: what others have is
// nobody's business.
func (m *model) refused() error {
	ref := m.spec.ControlPlaneRef
	return invalid.Field("spec.controlPlaneRef", "there is no ControlPlaneCluster %s in namespace %s that KeystoneService %s of namespace %s "+
		"may join; correct the reference, or have its owner name this claim in spec.keystoneServices there", ref.Name, ref.Namespace,
		m.claim.Name, m.claim.Namespace)
}

// checkGrant refuses what the control plane has not said.
func (m *model) checkGrant(grant controlplanev1.KeystoneServiceGrant) error {
	for _, e := range m.catalogEntries() {
		if slices.Contains(grant.Types(), string(e.Type)) {
			continue
		}
		requested, part := "type: %s", "catalog"
		if e.suffix != "" {
			requested, part = "additionalTypes: [%s]", "it"
		}
		return invalid.Field(e.field+".type", "the %s does not give type %q to this claim; have its owner say "+requested+" in "+
			"spec.keystoneServices there, or leave %s out", m.whose(), e.Type, e.Type, part)
	}
	if slices.Contains(m.spec.Account.Roles, keystoneservicev1.RoleAdmin) && !grant.AllowAdministration {
		return invalid.Field("spec.account.roles", "an admin administrates the whole cloud, and the %s does not allow it; leave it out, or "+
			"have its owner say allowAdministration: true in spec.keystoneServices there", m.whose())
	}
	return nil
}

// limit leaves nothing in the spec that is not granted.
func (m *model) limit(grant controlplanev1.KeystoneServiceGrant) {
	granted := func(c keystoneservicev1.Catalog) bool { return slices.Contains(grant.Types(), string(c.Type)) }
	if c := m.spec.Catalog; c != nil && !granted(*c) {
		m.spec.Catalog = nil
	}
	m.spec.AdditionalCatalog = slices.DeleteFunc(slices.Clone(m.spec.AdditionalCatalog), func(c keystoneservicev1.Catalog) bool {
		return !granted(c)
	})
	if !grant.AllowAdministration {
		m.spec.Account.Roles = slices.DeleteFunc(slices.Clone(m.spec.Account.Roles), func(r keystoneservicev1.Role) bool {
			return r == keystoneservicev1.RoleAdmin
		})
	}
}

// observedGrant is what is there by an earlier consent: no more is made while nobody can be asked.
func (m *model) observedGrant() controlplanev1.KeystoneServiceGrant {
	_, admin := m.seen.Get(roleResource(keystoneservicev1.RoleAdmin))
	out := controlplanev1.KeystoneServiceGrant{AllowAdministration: admin}
	for _, name := range m.seen.Names() {
		if entry, _ := m.seen.Get(name); strings.HasPrefix(name, entryResource) {
			out.AdditionalTypes = append(out.AdditionalTypes, entry.String("spec", "resource", "type"))
		}
	}
	return out
}

// admitted says that the control plane has let the service in before.
func (m *model) admitted() bool {
	_, ok := m.seen.Get(controlPlaneComponent)
	return ok
}

// lastKnownControlPlane is what was known of the control plane, if anything was, and what is waited for.
func (m *model) lastKnownControlPlane(waiting string) controlPlaneInfo {
	previous := m.previous.Account
	if previous == nil {
		return controlPlaneInfo{waits: waiting}
	}
	return controlPlaneInfo{instance: m.previous.ControlPlaneInstance, identityURL: previous.AuthURL, region: previous.Region, waits: waiting}
}

// controlPlane says in which cloud the service is, for whoever looks at the namespace, and holds everything back that needs it.
func controlPlane(m *model) ([]compose.Stage, error) {
	ref := m.spec.ControlPlaneRef
	rule, _ := ready.For(schema.GroupKind{Kind: "ConfigMap"})
	return []compose.Stage{{{
		Name:   controlPlaneComponent,
		Object: workload.ConfigMap(m.claimMeta(m.name()), map[string]string{"controlPlane": string(ref.Namespace) + "/" + string(ref.Name)}),
		Ready: func(o *observe.Object) ready.Result {
			if m.plane.waits != "" {
				return ready.Wait("ControlPlaneNotReady", "%s", m.plane.waits)
			}
			return rule.Check(o)
		},
	}}}, nil
}

// inUse keeps the control plane from being deleted by mistake while the service is in its Keystone, where K-ORC has to log in to remove it.
// Its owner takes the service's name out of the claim first, and then nothing keeps it. The user is a ConfigMap that comes and goes with
// the Usage: a Usage stays as long as its user does.
func inUse(m *model) ([]compose.Stage, error) {
	user := m.name() + "-in-use"
	return []compose.Stage{
		{{Name: "user-of-control-plane", Object: workload.ConfigMap(m.claimMeta(user), map[string]string{"user": m.instance})}},
		{usage.OfClaim(object.Meta{Name: user, Namespace: m.claim.Namespace, Labels: m.labels()}, "user-of-control-plane", reference.APIVersion,
			controlPlaneKind, m.spec.ControlPlaneRef, fmt.Sprintf("KeystoneService %s of namespace %s is in its catalog; delete that claim, or "+
				"take it out of spec.keystoneServices", m.claim.Name, m.claim.Namespace))},
	}, nil
}
