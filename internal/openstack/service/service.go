// Package service contains the parts that all OpenStack services share: the static description of a service (Definition),
// the values derived for one instance (Base), and the builders of its objects, as components of a graph (Graph).
//
// The function of a service embeds a Service in its model. It sets Base, from Derive, and then Service, from Base.With, with
// its additions (Extension) as data. It does not repeat code that a third service would also need.
package service

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Instance is the model of one instance of a service, which embeds a Service.
type Instance interface {
	// Embedded returns the embedded Service.
	Embedded() *Service
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
	// CAConfigMap is the ConfigMap with the CA of the API's certificate, for a service that publishes the CA itself. Empty: the
	// ConfigMap of the spec's identity, if it sets one.
	CAConfigMap string
}

// Base contains the values of one instance that follow from its definition, its spec and the observed state. A service reads
// them and does not change them.
type Base struct {
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
	// CAConfigMap is the ConfigMap with the CA of the API's certificate, for a Gateway. Empty: it does not exist yet.
	CAConfigMap string
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
}

// Service is the input of the builders of all services: the values of an instance, the additions of its service, and the
// rendered files.
type Service struct {
	*Base
	// Files and SchemaFiles are the configuration for the effective and for the target release. They differ only during an
	// upgrade.
	Files, SchemaFiles Files

	extension Extension
}

// Derive returns the Base of an instance. If the spec is invalid, it returns an error that also contains errs, the errors of further
// fields.
func (d *Definition) Derive(in Input, errs ...error) (*Base, error) {
	b, err := d.derive(in)
	if err := errors.Join(append([]error{err}, errs...)...); err != nil {
		return nil, err
	}
	return b, nil
}

func (d *Definition) derive(in Input) (*Base, error) {
	b := &Base{
		Definition: d, Name: in.Meta.Name, Namespace: in.Meta.Namespace, Generation: in.Meta.Generation,
		Spec: in.Spec, Previous: in.Previous, CAConfigMap: in.CAConfigMap, workers: in.Spec.UWSGI.Processes,
	}
	b.Spec.Complete()
	if err := b.releases(in.Observed); err != nil {
		return nil, err
	}
	check := in.Check
	if check == nil {
		check = func(r release.Release) error { return b.Spec.Check("spec", b.App, r) }
	}
	if err := check(b.TargetRelease); err != nil {
		return nil, err
	}
	if id := b.Spec.Identity; id != nil && id.CAConfigMapRef != nil {
		b.CAConfigMap = string(id.CAConfigMapRef.Name)
	}
	b.Workload = workload.Workload{
		Name: b.Name, Namespace: b.Namespace,
		App: d.App, Instance: b.Name, Component: "api",
		Replicas:    ptr.Deref(in.Spec.Workload.Replicas, defaultReplicas),
		Resources:   in.Spec.Workload.Resources,
		Placement:   in.Spec.Workload.Placement,
		Priority:    cmp.Or(d.Priority, workload.PriorityService),
		PullSecrets: b.Spec.Images.PullSecrets,
	}
	if b.Quiesced {
		b.Workload.Replicas = 0
	}
	if b.Stateful {
		b.Workload.Headless = b.Sub("pods")
	}
	if b.NeedsCutover {
		if err := b.deriveCutover(in.Observed); err != nil {
			return nil, err
		}
	}
	if err := b.deriveTimeouts(); err != nil {
		return nil, err
	}
	b.Server = b.server()
	return b, nil
}

// Embedded returns s, for models that embed it.
func (s *Service) Embedded() *Service { return s }

// Sub returns the name of an object of this instance with a suffix.
func (b *Base) Sub(suffix string) string { return b.Name + "-" + suffix }

// Meta returns the metadata of an object of this instance.
func (b *Base) Meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: b.Namespace, Labels: b.Workload.With(name, "").Labels()}
}

// TargetReleaseName returns the release to which the schema is upgraded.
func (b *Base) TargetReleaseName() string { return string(b.TargetRelease) }

// Version returns the tag or the digest of the running image.
func (b *Base) Version() string { return versionOf(b.Image) }

func versionOf(image string) string { return image[strings.LastIndexAny(image, ":@")+1:] }

// Exposed reports whether the API is reachable from outside the cluster.
func (b *Base) Exposed() bool {
	return b.Spec.Exposure != nil && b.Spec.Exposure.Type != exposure.None
}

// Monitored reports whether monitoring is enabled.
func (b *Base) Monitored() bool { return b.Spec.Monitoring.Enabled }

// InternalHost returns the host name of the internal URL, which the server certificate must contain. Spec.Check rejects a URL that
// cannot be parsed.
func (b *Base) InternalHost() string {
	u, err := url.Parse(string(b.Spec.Endpoints.Internal))
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
	for _, p := range s.extension.Processes {
		if which(p) {
			out = append(out, openstackv1.Consumer{Kind: kindOf(p.Stateful), Name: common.ObjectName(s.Sub(p.Name))})
		}
	}
	return out
}

// kind returns the kind of the API's workload.
func (b *Base) kind() string { return kindOf(b.Stateful) }

func kindOf(stateful bool) string {
	if stateful {
		return "StatefulSet"
	}
	return "Deployment"
}

// pods returns the resource name of the API's workload.
func (b *Base) pods() string { return strings.ToLower(b.kind()) }

// Path returns the path of a file or folder in the configuration folder of the service.
func (b *Base) Path(parts ...string) string {
	return strings.Join(append([]string{"/etc", b.App}, parts...), "/")
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
func (b *Base) SecretVolume(name, secretName string, keys ...string) Volume {
	return Volume{Volume: workload.SecretVolume(name, secretName, keys...), Folder: b.Path(name)}
}
