package keystone

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

const (
	service = keystonev1.ServiceName
	// localPort is where uWSGI listens when a proxy stands before it.
	apiPort, localPort = keystonev1.Port, keystonev1.Port + 1
	// userID is the numeric user of the image.
	userID = 42424
	// mercy is how long requests may go on while a pod stops.
	mercy = 60 * time.Second
	// defaultReplicas applies to a Keystone that is made by hand; a control plane names them.
	defaultReplicas = 1
)

// Names of composed resources that are read back.
const (
	schemaResource     = "schema"
	deploymentResource = "deployment"
	loginResource      = "login"
	serviceResource    = "service"
	// certificateResource is the server's certificate.
	certificateResource = "server-certificate"
)

// Phases of a Keystone.
const (
	phaseCreating = "Creating"
	phaseReady    = "Ready"
	phaseUpdating = "Updating"
)

// model is everything that builders read, derived once.
type model struct {
	name, namespace string
	generation      int64
	spec            keystonev1.KeystoneSpec
	// previous is the status of the last call.
	previous keystonev1.KeystoneStatus
	// wanted is the release that the spec asks for, effective the one that may run now: the one whose schema is in place.
	wanted, effective release.Release
	// fallback is the earlier release that the schema still serves, to which an upgrade may be aborted.
	fallback string
	// image of the effective release, schemaImage of the wanted one, proxyImage of the federation proxy.
	image, schemaImage, proxyImage string
	workload                       workload.Workload
	// live is what the running Keystone reports, authority whose certificate it has.
	live      *common.Live
	authority authority
	// started is what distinguishes what the API's pods read as they start, by resource.
	started map[string]string
	// ipv6 says that the pods' first addresses are of IPv6.
	ipv6 bool
	// config of each release.
	files, schemaFiles files
}

func derive(in function.Input[keystonev1.Keystone]) (*model, error) {
	xr := in.XR
	m := &model{name: xr.Name, namespace: xr.Namespace, generation: xr.Generation, spec: xr.Spec, previous: xr.Status}
	identity.SetDefaults(&m.spec)
	m.started = startedWith(in.Seen)
	m.ipv6 = speaksIPv6(in.Seen)
	if check, ok := in.Seen.Get(loginResource); ok {
		m.live = live(check)
	}
	m.authority = findAuthority(in.Seen)
	if err := m.releases(in); err != nil {
		return nil, err
	}
	if err := identity.Check("spec", m.wanted, &m.spec); err != nil {
		return nil, err
	}
	m.workload = workload.Workload{
		Name: m.name, Namespace: m.namespace,
		App: service, Instance: m.name, Component: "api",
		Replicas:    ptr.Deref(m.spec.Replicas, defaultReplicas),
		Resources:   m.spec.Resources,
		Placement:   m.spec.Placement,
		PullSecrets: m.spec.Images.PullSecrets,
	}
	var err error
	if m.files, err = m.render(m.effective); err != nil {
		return nil, err
	}
	m.schemaFiles = m.files
	if m.wanted != m.effective {
		if m.schemaFiles, err = m.render(m.wanted); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// releases finds the wanted and the effective release and their images.
func (m *model) releases(in function.Input[keystonev1.Keystone]) error {
	var err error
	if m.wanted, err = release.Parse(m.spec.OpenStackRelease); err != nil {
		return invalid.Field("spec.openStackRelease", "%s", err)
	}
	installed := ""
	if sync, ok := in.Seen.Get(schemaResource); ok {
		installed, m.fallback = sync.String("status", "installedRelease"), sync.String("status", "previousRelease")
	}
	if m.effective, err = release.Effective(m.wanted, installed, m.fallback); err != nil {
		return invalid.Field("spec.openStackRelease", "%s", err)
	}
	if m.image, err = m.imageOf(service, m.effective, m.spec.Image, "spec.image"); err != nil {
		return err
	}
	if m.schemaImage, err = m.imageOf(service, m.wanted, m.spec.Image, "spec.image"); err != nil {
		return err
	}
	if m.effective != m.wanted {
		// The pods stay exactly as they are until the schema serves the new release; an image that the spec names may be of it.
		m.image = cmp.Or(runningImage(in), m.image)
	}
	if f := m.spec.Federation; f != nil {
		m.proxyImage, err = m.imageOf(release.FederationProxy, m.effective, f.ProxyImage, "spec.federation.proxyImage")
	}
	return err
}

// runningImage is the image of the API's pods, if there are any.
func runningImage(in function.Input[keystonev1.Keystone]) string {
	d, ok := in.Seen.Get(deploymentResource)
	if !ok {
		return ""
	}
	for _, c := range d.List("spec", "template", "spec", "containers") {
		if m, _ := c.(map[string]any); m["name"] == service {
			image, _ := m["image"].(string)
			return image
		}
	}
	return ""
}

func (m *model) imageOf(name string, r release.Release, over *common.Image, field string) (string, error) {
	o := release.Override{Registry: m.spec.Images.Registry}
	if over != nil {
		o.Repository, o.Tag, o.Digest = over.Repository, over.Tag, over.Digest
	}
	image, err := release.ImageFor(name, r, o)
	if err != nil {
		return "", invalid.Field(field, "%s", err)
	}
	return image, nil
}

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.namespace, Labels: m.workload.With(name, "").Labels()}
}

// sub names an object of this Keystone.
func (m *model) sub(suffix string) string { return m.name + "-" + suffix }

func (m *model) adminSecret() string { return keystonev1.AdminSecretName(m.name) }

func (m *model) adminCloud() common.CloudCredentialsReference { return keystonev1.AdminCloud(m.name) }

func (m *model) wantedRelease() string { return string(m.wanted) }

func (m *model) version() string { return m.image[strings.LastIndexAny(m.image, ":@")+1:] }

func (m *model) exposed() bool {
	return m.spec.Exposure != nil && m.spec.Exposure.Type != exposure.None
}

func (m *model) monitored() bool { return m.spec.Monitoring.Enabled }

// internalHost is the host name of the internal address, which the server's certificate has to name.
func (m *model) internalHost() string {
	u, err := url.Parse(string(m.spec.Endpoints.Internal))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (m *model) consumers() []openstackv1.Consumer {
	return []openstackv1.Consumer{{Kind: "Deployment", Name: common.ObjectName(m.workload.Name)}}
}

func place(m *model) respond.Place {
	config := string(m.spec.Target.ProviderConfig)
	return respond.Place{
		Namespaced: true, Namespace: m.namespace, Prefix: m.name,
		Management: config, Workload: config, Remote: m.spec.Target.Remote,
		DeleteData: m.spec.DeletionPolicy == common.DeletionPolicyDelete,
	}
}

func status(m *model, plan compose.Plan) any {
	s := keystonev1.KeystoneStatus{
		ServiceStatus: common.ServiceStatus{
			ObservedGeneration: m.generation,
			Phase:              phaseCreating,
			UpdatePhase:        common.UpdatePhaseIdle,
			Endpoint:           m.spec.Endpoints.Public,
			Live:               m.live,
			Components:         respond.Components(plan, m.previous.Components),
		},
		Refs: &keystonev1.References{AdminSecret: m.adminSecret()},
	}
	if part, _ := plan.Part("api"); part.Exists() {
		s.Release, s.Version, s.PreviousRelease = string(m.effective), m.version(), m.fallback
	}
	switch {
	case plan.Ready():
		s.Phase = phaseReady
	case m.previous.Phase == phaseReady || m.previous.Phase == phaseUpdating:
		s.Phase, s.UpdatePhase = phaseUpdating, common.UpdatePhaseUpdating
	}
	return s
}
