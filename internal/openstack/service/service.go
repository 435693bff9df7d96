// Package service contains the parts that all OpenStack services share: the static description of a service (Definition),
// the values derived for one instance (Service), and the builders of its objects, as components of a common graph (Graph).
//
// The function of a service embeds a Service in its model, sets its specifics (options, files, volumes, flows) as data, and
// adds components to the graph. It does not repeat code that a third service would also need.
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
	// Base returns the embedded Service.
	Base() *Service
	// APIPod returns the pod of the API. Service.APIPod is the default; a service may override it.
	APIPod() workload.Pod
}

// Input contains the inputs of Derive.
type Input struct {
	// Meta and Spec of the composite resource.
	Meta metav1.ObjectMeta
	Spec Spec
	// Check returns an error for a spec that is not valid in a release. Nil: Spec.Check.
	Check func(release.Release) error
	// Previous is the status written by the previous call.
	Previous common.ServiceStatus
	// Observed is the observed state.
	Observed observe.State
}

// Service contains the values that the builders of all services read, derived once. A service sets its specifics between
// Derive and Render.
type Service struct {
	*Definition
	// Name and Namespace of the composite resource, and of the API's objects.
	Name, Namespace string
	Generation      int64
	Spec            Spec
	Previous        common.ServiceStatus
	// TargetRelease is the release of the spec. Effective is the release that may run now, because its schema is installed.
	TargetRelease, Effective release.Release
	// Fallback is the earlier release that the schema still supports, to which an upgrade can be aborted.
	Fallback string
	// Image is the image of the effective release, SchemaImage the image of the target release.
	Image, SchemaImage string
	// Workload of the API.
	Workload workload.Workload
	// Server configures the uWSGI server of the API.
	Server workload.UWSGI

	// Options are the options of this service; they override the common ones.
	Options oslo.Config
	// ExtraFiles are added to the common files.
	ExtraFiles []ExtraFile
	// Content contains further objects that pods read, in addition to the ConfigMap.
	Content compose.Stage
	// Volumes are mounted by all pods of the service, ConfigVolumes by all pods that read the configuration.
	Volumes, ConfigVolumes []Volume
	// Mounts and Env are added to the pods of the API only.
	Mounts []Volume
	Env    []corev1.EnvVar
	// Accounts are generated credentials, in addition to the database account.
	Accounts []Account
	// IngressFrom are namespaces with access to the API, in addition to its own and the namespaces of the exposure.
	IngressFrom []string
	// DatabasePods and QueuePods are the labels of the server pods if the service has its own database or queue; egress is
	// then limited to these pods. Nil: the server is shared and restricts its own ingress.
	DatabasePods, QueuePods map[string]string
	// Egress lists destinations of all pods, in addition to the database, the cache and Keystone. APIEgress applies to the
	// pods of the API only.
	Egress, APIEgress []workload.Flow
	// Annotations of the API's pods record the inputs with which they started.
	Annotations map[string]string
	// Rules are policy rules of the service. A tenant's rule with the same name takes precedence.
	Rules map[string]string
	// Processes run in addition to the API.
	Processes []Process
	// Entries are catalog entries in addition to the API's.
	Entries []Entry
	// Logins are option groups with which the service logs in to Keystone, in addition to the group that validates tokens
	// of requests.
	Logins []string
	// Credential is the Secret with another service's application credential, used by this service to log in. Empty: it has
	// its own.
	Credential string
	// CredentialConsumers are workloads of other services that log in with the credential of this service.
	CredentialConsumers []openstackv1.Consumer
	// Grantees are users of other services with access to the databases.
	Grantees []Grantee
	// Vhosts are virtual hosts of other services, on any queue, that the queue user may also use.
	Vhosts []c5c3v1.QueuePermission
	// JobEnv and JobVolumes are added to the pods of Jobs. JobEnv replaces variables of the same name.
	JobEnv     []corev1.EnvVar
	JobVolumes []Volume
	// Claims are the volume claims of each pod of a stateful API.
	Claims []workload.Claim
	// ExtraAlerts are added to the common alerts.
	ExtraAlerts []monitoring.Alert
	// Jobs are the name prefixes of the service's Jobs.
	Jobs []string
	// External is true if the service runs outside of this control plane.
	External bool
	// Quiesced is true while a schema step runs that requires all pods using the databases to be stopped.
	Quiesced bool
	// timeouts are the timeouts of the calls made while serving requests.
	timeouts capacity.Timeouts
	// workers is the number of uWSGI processes in the spec. 0: derived from the memory.
	workers int32
	// running returns the current image of the pods of a resource while the target release is not in effect. Nil: it is in
	// effect.
	running func(resource string) string
	// cutover is the state of the cutover of the API to another release, if the service needs one.
	cutover cutover
	// CAConfigMap is the ConfigMap with the CA of the API's certificate, for a Gateway. Empty: it does not exist yet.
	CAConfigMap string

	// Files and SchemaFiles are the configuration for the effective and for the target release. They differ only during an
	// upgrade.
	Files, SchemaFiles Files
}

// Derive returns the Service of an instance. It returns an error if the spec is invalid.
func (d *Definition) Derive(in Input) (*Service, error) {
	s := &Service{
		Definition: d, Name: in.Meta.Name, Namespace: in.Meta.Namespace, Generation: in.Meta.Generation,
		Spec: in.Spec, Previous: in.Previous, workers: in.Spec.UWSGI.Processes,
	}
	s.Spec.Complete()
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

// Base returns s, for models that embed it.
func (s *Service) Base() *Service { return s }

// Sub returns the name of an object of this instance with a suffix.
func (s *Service) Sub(suffix string) string { return s.Name + "-" + suffix }

// Meta returns the metadata of an object of this instance.
func (s *Service) Meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: s.Namespace, Labels: s.Workload.With(name, "").Labels()}
}

// TargetReleaseName returns the release to which the schema is upgraded.
func (s *Service) TargetReleaseName() string { return string(s.TargetRelease) }

// Version returns the tag or the digest of the running image.
func (s *Service) Version() string { return versionOf(s.Image) }

func versionOf(image string) string { return image[strings.LastIndexAny(image, ":@")+1:] }

// Exposed reports whether the API is reachable from outside the cluster.
func (s *Service) Exposed() bool {
	return s.Spec.Exposure != nil && s.Spec.Exposure.Type != exposure.None
}

// Monitored reports whether monitoring is enabled.
func (s *Service) Monitored() bool { return s.Spec.Monitoring.Enabled }

// InternalHost returns the host name of the internal URL, which the server certificate must contain.
func (s *Service) InternalHost() string {
	u, err := url.Parse(string(s.Spec.Endpoints.Internal))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Consumers returns the workloads that use the databases and keys.
func (s *Service) Consumers() []openstackv1.Consumer {
	return s.consumers(func(Process) bool { return true })
}

// loggedIn returns the workloads that use the application credential.
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

// kind returns the kind of the API's workload.
func (s *Service) kind() string { return kindOf(s.Stateful) }

func kindOf(stateful bool) string {
	if stateful {
		return "StatefulSet"
	}
	return "Deployment"
}

// pods returns the resource name of the API's workload.
func (s *Service) pods() string { return strings.ToLower(s.kind()) }

// Path returns the path of a file or folder in the configuration folder of the service.
func (s *Service) Path(parts ...string) string {
	return strings.Join(append([]string{"/etc", s.App}, parts...), "/")
}

// Volume is a volume of a pod with its mount path in the main container. A volume with only a name refers to a volume
// claim.
type Volume struct {
	corev1.Volume
	// Folder is the mount path of the whole volume.
	Folder string
	// Writable is true for volumes that hold data.
	Writable bool
}

// SecretVolume returns a volume with the keys of a Secret. Without keys, it contains all of them.
func (s *Service) SecretVolume(name, secretName string, keys ...string) Volume {
	return Volume{Volume: workload.SecretVolume(name, secretName, keys...), Folder: s.Path(name)}
}
