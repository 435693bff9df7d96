package hypervisor

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// images are the images of workloads on nodes.
type images struct{ openvswitch, controller, libvirt, compute, agent, agents, ovsAgent string }

// registries limits the registries of images on nodes. It is separate from the control plane's list: workloads of a control plane have no
// privileges, and workloads here control the node.
var registries = limit.List{
	Name: "hypervisorRegistries", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorRegistries) }, Allows: limit.Below,
}

// checkImages rejects images that the platform does not allow in pools of this namespace. The platform's own images are always allowed.
func (m *model) checkImages(limits []platformv1.Limit) error {
	var errs []error
	check := func(field, value string) {
		if value != "" && value != m.platformImages().Registry {
			errs = append(errs, registries.CheckAny(limits, m.claim.Namespace, field, []string{value}))
		}
	}
	limit.Walk("spec", &m.spec, func(path string, value any) {
		switch v := value.(type) {
		case common.Images:
			check(path+".registry", v.Registry)
		case common.Image:
			check(path+".repository", v.Repository)
		case common.InfrastructureImage:
			check(path+".repository", v.Repository)
		}
	})
	return errors.Join(errs...)
}

func (m *model) platformImages() common.Images { return ptr.Deref(m.platform.Images, common.Images{}) }

// findImages selects each image: from the claim, or else from the platform's registry, in the version of this function or of the control
// plane's release.
func (m *model) findImages() error {
	registry := cmp.Or(ptr.Deref(m.spec.Images, common.Images{}).Registry, m.platformImages().Registry)
	a, agents := &m.images, m.agents()
	var errs []error
	find := func(name string, o release.Override, field string) string {
		o.Registry = registry
		image, err := release.ImageFor(name, m.plane.release, o)
		if err != nil {
			errs = append(errs, invalid.Field(field, "%s", err))
		}
		return image
	}
	own := func(name string, requested *common.InfrastructureImage, field string) string {
		i := ptr.Deref(requested, common.InfrastructureImage{})
		return find(name, release.Override{Repository: i.Repository, Tag: i.Tag, Digest: i.Digest}, field)
	}
	ofRelease := func(name string, requested *common.Image, field string) string {
		i := ptr.Deref(requested, common.Image{})
		if err := release.CheckTag(name, m.plane.release, i.Tag); err != nil {
			errs = append(errs, invalid.Field(field+".tag", "the release is set by the control plane, and %s", err))
		}
		return find(name, release.Override{Repository: i.Repository, Tag: i.Tag, Digest: i.Digest}, field)
	}
	a.openvswitch = own(release.OVN, agents.OpenVSwitch.Image, "spec.agents.openvswitch.image")
	a.controller = own(release.OVN, agents.OVNController.Image, "spec.agents.ovnController.image")
	a.libvirt = own(release.Libvirt, m.spec.Virtualization.Libvirt.Image, "spec.virtualization.libvirt.image")
	a.compute = ofRelease(release.NovaCompute, agents.NovaCompute.Image, "spec.agents.novaCompute.image")
	if on(agents.OVSAgent.Enabled) {
		a.ovsAgent = own(release.OVSAgent, agents.OVSAgent.Image, "spec.agents.ovsAgent.image")
	}
	if m.usesQueue() {
		a.agents = ofRelease(release.NeutronAgents, agents.Neutron.Image, "spec.agents.neutron.image")
	}
	if m.usesOVN() {
		a.agent = ofRelease(release.OVNAgent, agents.Metadata.Image, "spec.agents.metadata.image")
		return errors.Join(errs...)
	}
	if a.agent = a.agents; agents.Metadata.Image != nil {
		a.agent = ofRelease(release.NeutronAgents, agents.Metadata.Image, "spec.agents.metadata.image")
	}
	return errors.Join(errs...)
}

// pullsField is the path of the claim's image pull secrets.
const pullsField = "spec.images.pullSecrets"

// findPulls selects the image pull secrets: the claim's, or else the platform's. Pods with rights of the platform use the platform's only.
func (m *model) findPulls() {
	labels := m.meta(pullComponent).Labels
	names, ofPlatform := tenantsecret.PlatformPulls(m.platform, m.instance, labels)
	own, ofClaim := tenantsecret.ClaimPulls(m.spec.Images, pullsField, cmp.Or(m.claim.Namespace, ofPlatform.From), m.instance, labels)
	m.platformPulls = names
	if len(own) > 0 {
		names = own
		if !m.labelsInjected() && !m.operatorEnabled() { // Previous copies stay while pods use them.
			ofPlatform.Requests = nil
		}
	}
	m.pullSecrets, m.pulls.ofPlatform, m.pulls.ofClaim = names, m.withManagementSecrets(ofPlatform), m.withManagementSecrets(ofClaim)
}

func (m *model) pullSets() []tenantsecret.Set {
	return []tenantsecret.Set{m.pulls.ofPlatform, m.pulls.ofClaim}
}

// hasPullSecrets reports whether pull secrets are or have been copied.
func (m *model) hasPullSecrets() bool {
	return slices.ContainsFunc(m.pullSets(), func(s tenantsecret.Set) bool {
		return len(s.Requests) > 0 || slices.ContainsFunc(m.observed.Names(), s.Has)
	})
}

// pullSecrets copies the image pull secrets.
func pullSecrets(m *model) ([]compose.Stage, error) {
	return tenantsecret.Parallel(m.pullSets()), nil
}
