// Package service is what all OpenStack services have in common: what a service is (Definition), what is derived of one instance
// (Service), and the builders of its objects, as components of a graph that every service starts from (Graph).
//
// A service's function embeds a Service in its model, sets what is its own (options, files, volumes, flows) as data, and adds components
// to the graph. It repeats nothing that a third service would have, too.
package service

import (
	"cmp"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Instance is the model of one instance of a service, which embeds a Service.
type Instance interface {
	// Base is the Service.
	Base() *Service
	// APIPod is a pod of the API: that of the Service, unless a service has its own.
	APIPod() workload.Pod
}

// Input is what a Service is derived from.
type Input struct {
	// Meta and Spec of the composite resource.
	Meta metav1.ObjectMeta
	Spec Spec
	// Check refuses a spec that cannot be in a release. Nil: that of the Spec.
	Check func(release.Release) error
	// Previous is the status of the last call.
	Previous common.ServiceStatus
	// Observed is what is observed.
	Observed observe.State
}

// Service is everything that the builders of every service read, derived once. What a service has of its own it sets between Derive and
// Render.
type Service struct {
	*Definition
	// Name and Namespace of the composite resource, and of the API's objects.
	Name, Namespace string
	Generation      int64
	Spec            Spec
	Previous        common.ServiceStatus
	// TargetRelease is the release that the spec asks for, Effective the one that may run now: the one whose schema is in place.
	TargetRelease, Effective release.Release
	// Fallback is the earlier release that the schema still serves, to which an upgrade may be aborted.
	Fallback string
	// Image is that of the effective release, SchemaImage that of the wanted one.
	Image, SchemaImage string
	// Workload of the API.
	Workload workload.Workload
	// Server is the API's process.
	Server workload.UWSGI

	// Options are the service's own, over those that all have.
	Options oslo.Config
	// ExtraFiles are files besides those that all services have.
	ExtraFiles []ExtraFile
	// Content is what pods read besides the ConfigMap.
	Content compose.Stage
	// Volumes are mounted by every pod of the service, ConfigVolumes by every pod that reads the configuration.
	Volumes, ConfigVolumes []Volume
	// Mounts and Env are those of the API's pods alone.
	Mounts []Volume
	Env    []corev1.EnvVar
	// Accounts are generated credentials besides that of the database.
	Accounts []Account
	// IngressFrom are the namespaces that the API is used from, besides its own and those of the exposure.
	IngressFrom []string
	// DatabasePods and QueuePods are the labels of the servers' pods where these are the service's own: its pods reach no others. Nil: theirs
	// is shared, and who may use it is said there.
	DatabasePods, QueuePods map[string]string
	// Egress is where pods go, besides the database, the cache and Keystone, and Peers where only those of the API do.
	Egress, APIEgress []workload.Flow
	// Annotations of the API's pods say what they started with.
	Annotations map[string]string
	// Rules of access are the service's own where the tenant has none of that name.
	Rules map[string]string
	// Processes are those besides the API.
	Processes []Process
	// Entries of the catalog are those besides the API's.
	Entries []Entry
	// Logins are groups of options by which the service logs in to Keystone, besides that of the tokens of requests.
	Logins []string
	// Credential is the Secret of the application credential of another service, by which this one logs in. Empty: it has its own.
	Credential string
	// CredentialConsumers are workloads of other services that log in by the credential of this one.
	CredentialConsumers []openstackv1.Consumer
	// Grantees may use the databases, too.
	Grantees []Grantee
	// Vhosts are virtual hosts of other services that the user of the queue may use, too, on whatever queue.
	Vhosts []c5c3v1.QueuePermission
	// JobEnv and JobVolumes are what Jobs have, besides or in place of what all pods have.
	JobEnv     []corev1.EnvVar
	JobVolumes []Volume
	// Claims are volumes of each pod of a stateful API.
	Claims []workload.Claim
	// ExtraAlerts are alerts besides those on what every service has.
	ExtraAlerts []monitoring.Alert
	// Jobs begin the names of Jobs that are the service's own.
	Jobs []string
	// External says that somebody else runs the service, outside of this control plane.
	External bool
	// Quiesced says that no pod may run that uses the databases: a step of a schema is in turn that needs that.
	Quiesced bool
	// timeouts are those of the calls that requests make.
	timeouts capacity.Timeouts
	// workers is how many processes of uWSGI the spec asks for. 0: as many as the memory holds.
	workers int32
	// running is the image of the pods of a resource while a release is not in effect. Nil: it is.
	running func(resource string) string
	// cutover is how the API goes to another release, if it cuts over.
	cutover cutover
	// CAConfigMap holds the authority of the API's certificate, for a Gateway. Empty: there is none yet.
	CAConfigMap string

	// Files and SchemaFiles are what pods of the effective and of the wanted release read; mostly they are the same.
	Files, SchemaFiles Files
}

// Derive derives a Service. It refuses what is wrong in the spec.
func (d *Definition) Derive(in Input) (*Service, error) {
	s := &Service{
		Definition: d, Name: in.Meta.Name, Namespace: in.Meta.Namespace, Generation: in.Meta.Generation,
		Spec: in.Spec, Previous: in.Previous, workers: in.Spec.UWSGI.Processes,
	}
	s.Spec.SetDefaults()
	if err := s.releases(in.Observed); err != nil {
		return nil, err
	}
	check := in.Check
	if check == nil {
		check = func(r release.Release) error { return s.Spec.Check("spec", s.App, r) }
	}
	if err := check(s.TargetRelease); err != nil {
		return nil, err
	}
	if id := s.Spec.Identity; id != nil && id.CAConfigMapRef != nil {
		s.CAConfigMap = string(id.CAConfigMapRef.Name)
	}
	s.Workload = workload.Workload{
		Name: s.Name, Namespace: s.Namespace,
		App: d.App, Instance: s.Name, Component: "api",
		Replicas:    ptr.Deref(in.Spec.Workload.Replicas, defaultReplicas),
		Resources:   in.Spec.Workload.Resources,
		Placement:   in.Spec.Workload.Placement,
		Priority:    cmp.Or(d.Priority, workload.PriorityService),
		PullSecrets: s.Spec.Images.PullSecrets,
	}
	if s.Quiesced {
		s.Workload.Replicas = 0
	}
	if s.Stateful {
		s.Workload.Headless = s.Sub("pods")
	}
	if s.NeedsCutover {
		if err := s.deriveCutover(in.Observed); err != nil {
			return nil, err
		}
	}
	if err := s.deriveTimeouts(); err != nil {
		return nil, err
	}
	s.Server = s.server(SpeaksIPv6(in.Observed, serviceResource))
	return s, nil
}

// Base is the Service itself, for models that embed it.
func (s *Service) Base() *Service { return s }

// Sub names an object of this instance.
func (s *Service) Sub(suffix string) string { return s.Name + "-" + suffix }

// Meta of an object of this instance.
func (s *Service) Meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: s.Namespace, Labels: s.Workload.With(name, "").Labels()}
}

// TargetReleaseName is the release that the schema is brought to.
func (s *Service) TargetReleaseName() string { return string(s.TargetRelease) }

// Version of the service that runs: the tag or the digest of its image.
func (s *Service) Version() string { return versionOf(s.Image) }

func versionOf(image string) string { return image[strings.LastIndexAny(image, ":@")+1:] }

// Exposed says that the API is reached from outside.
func (s *Service) Exposed() bool {
	return s.Spec.Exposure != nil && s.Spec.Exposure.Type != exposure.None
}

// Monitored says that there is a Prometheus.
func (s *Service) Monitored() bool { return s.Spec.Monitoring.Enabled }

// InternalHost is the host name of the internal address, which the server's certificate has to name.
func (s *Service) InternalHost() string {
	u, err := url.Parse(string(s.Spec.Endpoints.Internal))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Consumers are the workloads that use the databases and keys.
func (s *Service) Consumers() []openstackv1.Consumer {
	return s.consumers(func(Process) bool { return true })
}

// loggedIn are those that use the credential.
func (s *Service) loggedIn() []openstackv1.Consumer {
	return s.consumers(func(p Process) bool { return len(p.Logins) > 0 })
}

func (s *Service) consumers(which func(Process) bool) []openstackv1.Consumer {
	var out []openstackv1.Consumer
	if s.Module != "" {
		out = append(out, openstackv1.Consumer{Kind: s.kind(), Name: common.ObjectName(s.Workload.Name)})
	}
	for _, p := range s.Processes {
		if which(p) {
			out = append(out, openstackv1.Consumer{Kind: kindOf(p.Stateful), Name: common.ObjectName(s.Sub(p.Name))})
		}
	}
	return out
}

// kind of the API's workload.
func (s *Service) kind() string { return kindOf(s.Stateful) }

func kindOf(stateful bool) string {
	if stateful {
		return "StatefulSet"
	}
	return "Deployment"
}

// pods is the resource of the API's workload.
func (s *Service) pods() string { return strings.ToLower(s.kind()) }

// Path of a file or a folder in the service's configuration folder.
func (s *Service) Path(parts ...string) string {
	return strings.Join(append([]string{"/etc", s.App}, parts...), "/")
}

// Volume is a volume of a pod and where its main container mounts it. One that has only a name is that of a claim.
type Volume struct {
	corev1.Volume
	// Folder in which the whole volume is.
	Folder string
	// Writable volumes hold data.
	Writable bool
}

// SecretVolume is a volume with a Secret of that name, all of its keys or some.
func (s *Service) SecretVolume(name, secretName string, keys ...string) Volume {
	return Volume{Volume: workload.SecretVolume(name, secretName, keys...), Folder: s.Path(name)}
}
