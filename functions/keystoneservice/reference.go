package keystoneservice

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// controlPlaneOf returns the reference to the control plane. A control plane allows each service by the name of its claim instead of its
// namespace, because an account in a cloud grants more than network access.
func controlPlaneOf(claim function.Claim, ref common.ClaimReference) controlplane.Reference {
	return controlplane.To(claim.Namespace, ref, func(spec *structpb.Struct) bool { _, ok := grantOf(spec, claim); return ok })
}

// grantOf returns the permissions of a claim in the control plane's spec.
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

// requires returns selectors of the control plane's claim, and then of its composite resource, if that claim allows this one.
func requires(in function.Input[keystoneservicev1.KeystoneService]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	controlPlaneOf(in.Claim, in.XR.Spec.ControlPlaneRef).Requires(in.Required, out)
	return out
}

// controlPlaneInfo is the known state of the control plane.
type controlPlaneInfo struct {
	controlplane.State
	identityURL common.URL
	region      string
}

// granted reports whether the control plane allows the service, and its state is sufficiently known.
func (m *model) granted() bool { return m.plane.Instance != "" }

// resolveControlPlane reads the control plane.
//
// A claim that was never allowed is rejected. Objects of a claim that was allowed are deleted when the control plane exists and no longer
// allows it, or not in its present form: the owner of the control plane must be able to revoke consent regardless of the claim's owner. A
// control plane that cannot be read has not revoked anything: the last known state stays.
func (m *model) resolveControlPlane(required reference.Required) (controlPlaneInfo, error) {
	to := controlPlaneOf(m.claim, m.spec.ControlPlaneRef)
	grant, granted := m.observedGrant(), true
	if to.Exists(required) {
		grant, granted = grantOf(required[to.Claim][0].GetFields()["spec"].GetStructValue(), m.claim)
	}
	c, ok, unreadable := to.Read(required)
	rejected := m.notAllowed()
	switch {
	case !ok && !m.admitted():
		return controlPlaneInfo{}, rejected
	case !granted:
		return controlPlaneInfo{State: controlplane.State{Waits: rejected.Error()}}, nil
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
		out = controlplane.LastKnown(m.recordedControlPlane(), rejected.Error())
	case unreadable != nil:
		err = unreadable
	case c == nil:
		out = controlplane.LastKnown(m.recordedControlPlane(), to.NotComposed())
	default:
		out, err = m.readControlPlane(c)
	}
	if err == nil && wrong != nil {
		out.Waits = wrong.Error()
	}
	return out, err
}

// readControlPlane reads the state of a control plane.
func (m *model) readControlPlane(c *controlplanev1.ControlPlaneCluster) (controlPlaneInfo, error) {
	if controlplane.Cluster(c) != "" {
		return controlPlaneInfo{}, invalid.Field("spec.controlPlaneRef", "the control plane runs in another cluster; a KeystoneService for such "+
			"a control plane is not implemented in this version; select another control plane")
	}
	i := slices.IndexFunc(c.Status.Endpoints, func(e common.Endpoint) bool { return e.Service == keystonev1.ServiceName })
	if c.Status.Instance == "" || i < 0 || !catalogExists(c.Status.Components) {
		recorded := m.recordedControlPlane()
		return controlplane.LastKnown(recorded, fmt.Sprintf("waiting for the catalog of the %s", m.controlPlane())), nil
	}
	return controlPlaneInfo{
		State: controlplane.State{Instance: c.Status.Instance}, identityURL: c.Status.Endpoints[i].Internal, region: c.Spec.Global.Region,
	}, nil
}

// catalogExists reports whether the control plane's catalog exists, and with it the project of the services.
func catalogExists(components []common.ComponentStatus) bool {
	return slices.ContainsFunc(components, func(c common.ComponentStatus) bool {
		return c.Name == catalogComponent && (c.Phase == common.ComponentReady || c.Phase == common.ComponentUpdating)
	})
}

// notAllowed returns the error for a reference to a control plane that does not exist or does not allow this claim. Both cases have the
// same text, so that it does not disclose whether an object exists.
func (m *model) notAllowed() error {
	ref := m.spec.ControlPlaneRef
	return invalid.Field("spec.controlPlaneRef", "there is no ControlPlaneCluster %s in namespace %s that KeystoneService %s of namespace %s "+
		"may join; correct the reference, or ask its owner to add this claim to spec.keystoneServices", ref.Name, ref.Namespace,
		m.claim.Name, m.claim.Namespace)
}

// checkGrant rejects requests that the control plane does not allow.
func (m *model) checkGrant(grant controlplanev1.KeystoneServiceGrant) error {
	for _, e := range m.catalogEntries() {
		if slices.Contains(grant.Types(), string(e.Type)) {
			continue
		}
		requested, part := "type: %s", "catalog"
		if e.suffix != "" {
			requested, part = "additionalTypes: [%s]", "it"
		}
		return invalid.Field(e.field+".type", "the %s does not allow service type %q for this claim; ask its owner to add "+requested+" to "+
			"spec.keystoneServices, or remove %s", m.controlPlane(), e.Type, e.Type, part)
	}
	if slices.Contains(m.spec.Account.Roles, keystoneservicev1.RoleAdmin) && !grant.AllowAdministration {
		return invalid.Field("spec.account.roles", "role admin is not allowed by the %s; remove it, or "+
			"ask its owner to set allowAdministration: true in spec.keystoneServices", m.controlPlane())
	}
	return nil
}

// limit removes everything from the spec that is not granted.
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

// observedGrant returns the permissions that existing objects imply: no others are created while the control plane cannot be read.
func (m *model) observedGrant() controlplanev1.KeystoneServiceGrant {
	_, admin := m.observed.Get(roleResource(keystoneservicev1.RoleAdmin))
	out := controlplanev1.KeystoneServiceGrant{AllowAdministration: admin}
	for _, name := range m.observed.Names() {
		if entry, _ := m.observed.Get(name); strings.HasPrefix(name, entryResource) {
			out.AdditionalTypes = append(out.AdditionalTypes, entry.String("spec", "resource", "type"))
		}
	}
	return out
}

// admitted reports whether the control plane has allowed the service before.
func (m *model) admitted() bool {
	_, ok := m.observed.Get(controlPlaneComponent)
	return ok
}

// recordedControlPlane returns the state of the control plane that the previous status recorded, if any.
func (m *model) recordedControlPlane() controlPlaneInfo {
	previous := m.previous.Account
	if previous == nil {
		return controlPlaneInfo{}
	}
	return controlPlaneInfo{
		State: controlplane.State{Instance: m.previous.ControlPlaneInstance}, identityURL: previous.AuthURL, region: previous.Region,
	}
}

// controlPlane records the control plane of the service in a ConfigMap for readers of the namespace, and delays all components that depend
// on it.
func controlPlane(m *model) ([]compose.Stage, error) {
	ref := m.spec.ControlPlaneRef
	data := map[string]string{"controlPlane": string(ref.Namespace) + "/" + string(ref.Name)}
	return controlplane.Record(m.claimMeta(m.name()), data, m.plane.Waits), nil
}

// inUse protects the control plane from accidental deletion while the service is in its Keystone, where K-ORC must log in to remove it. The
// owner of the control plane removes the service from its claim first, which ends the protection. The user of the Usage is a ConfigMap that
// is created and deleted with the Usage, because a Usage stays as long as its user does.
func inUse(m *model) ([]compose.Stage, error) {
	user := m.name() + "-in-use"
	return []compose.Stage{
		{{Name: "user-of-control-plane", Object: workload.ConfigMap(m.claimMeta(user), map[string]string{"user": m.instance})}},
		{usage.OfClaim(object.Meta{Name: user, Namespace: m.claim.Namespace, Labels: m.labels()}, "user-of-control-plane", reference.APIVersion,
			controlplanev1.GroupVersionKind.Kind, m.spec.ControlPlaneRef, fmt.Sprintf("KeystoneService %s of namespace %s is in its catalog; "+
				"delete that claim, or take it out of spec.keystoneServices", m.claim.Name, m.claim.Namespace))},
	}, nil
}
