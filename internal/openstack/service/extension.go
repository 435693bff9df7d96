package service

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Extension contains the additions of one service to the parts that all services share. One function of the service returns
// it, and Base.With renders it.
type Extension struct {
	Config   Configuration
	Pods     Pods
	API      APIPods
	Jobs     Jobs
	Network  Network
	Keystone Keystone
	Access   Access
	// Processes run in addition to the API.
	Processes []Process
	// Alerts are added to the common alerts.
	Alerts []monitoring.Alert
}

// Configuration contains the settings of a service.
type Configuration struct {
	// Options are the options of this service; they override the common ones.
	Options oslo.Config
	// Rules are policy rules of the service. A tenant's rule with the same name takes precedence.
	Rules map[string]string
	// Files are added to the common files.
	Files []ExtraFile
}

// Pods contains additions to the pods of the API, of the processes and of the Jobs.
type Pods struct {
	// Volumes are mounted by all pods of the service, ConfigVolumes by all pods that read the configuration.
	Volumes, ConfigVolumes []Volume
	// Content contains further objects that pods read, in addition to the ConfigMap.
	Content compose.Stage
	// Annotations record the inputs with which the pods of the API and of the processes started.
	Annotations map[string]string
}

// Annotate adds annotations.
func (p *Pods) Annotate(annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	maps.Copy(p.Annotations, annotations)
}

// APIPods contains additions to the pods of the API only.
type APIPods struct {
	// Server replaces the settings of the uWSGI server. Nil: Base.Server.
	Server *workload.UWSGI
	// Volumes are mounted after the volumes of all pods.
	Volumes []Volume
	Env     []corev1.EnvVar
	// Claims are the volume claims of each pod of a stateful API (see Base.VolumeClaims).
	Claims []workload.Claim
}

// Jobs contains additions to the Jobs of a service.
type Jobs struct {
	// Names are the name prefixes of the Jobs that the service has in addition to those of its schema.
	Names []string
	// Resources of the pods of schema Jobs. Nil: the resources of the API.
	Resources *common.Resources
	// Queue: the tools read the address of the queue, and its account. A Job never connects to the queue.
	Queue bool
	// Env replaces variables of the same name. A replaced address of the queue also replaces its account.
	Env     []corev1.EnvVar
	Volumes []Volume
}

// Network contains additions to the network policies of the pods.
type Network struct {
	// Clients are namespaces with access to the API, in addition to its own and the namespaces of the exposure.
	Clients []string
	// Egress lists destinations of all pods, in addition to the database, the cache and Keystone. APIEgress applies to the
	// pods of the API only.
	Egress, APIEgress []workload.Flow
	// DatabasePods and QueuePods are the labels of the server pods if the service has its own database or queue; egress is
	// then limited to these pods. Nil: the server is shared and restricts its own ingress.
	DatabasePods, QueuePods map[string]string
}

// Keystone contains the logins and catalog entries of a service in Keystone, in addition to the common ones.
type Keystone struct {
	// Logins are option groups with which the service logs in, in addition to the group that validates tokens of requests.
	Logins []string
	// Credential is the Secret with another service's application credential, used by this service to log in. Empty: it has
	// its own.
	Credential string
	// Consumers are workloads of other services that log in with the credential of this service.
	Consumers []openstackv1.Consumer
	// Entries are catalog entries in addition to the API's.
	Entries []Entry
}

// Access contains generated credentials, and the access of other services.
type Access struct {
	// Accounts are generated credentials, in addition to the accounts in the database and in Keystone.
	Accounts []Account
	// Grantees are users of other services with access to the databases.
	Grantees []Grantee
	// VirtualHosts belong to other services, on any queue. The queue user may also use them.
	VirtualHosts []c5c3v1.QueuePermission
}

// With returns the Service of an instance with the additions of its service, and renders its files.
func (b *Base) With(x Extension) (Service, error) {
	s := Service{Base: b, extension: x}
	var err error
	if s.Files, err = s.render(b.Effective); err != nil {
		return Service{}, err
	}
	s.SchemaFiles = s.Files
	if b.TargetRelease != b.Effective {
		if s.SchemaFiles, err = s.render(b.TargetRelease); err != nil {
			return Service{}, err
		}
	}
	return s, nil
}
