package service

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Process is a process of a service in addition to its API: a daemon or another WSGI application.
type Process struct {
	common.Process
	// Name of the process. It is the resource name of its workload and the suffix of its object names.
	Name string
	// Component that runs the process together with similar ones. Empty: a component with the name of the process.
	Component string
	// Title and Outage are parts of alert texts: the name of the process, and the functions that fail while no pod is
	// available.
	Title, Outage string
	// Command of the process. For a WSGI application, set Server (see Serve) instead.
	Command []string
	Server  *workload.UWSGI
	// Stateful is true if pods need stable names, for example because other services identify them by name. Otherwise each
	// rollout creates new names.
	Stateful bool
	// Logins are the option groups with which the process logs in to Keystone. Empty: it does not log in.
	Logins []string
	// WithoutKeystone is true if the process does not connect to Keystone, not even to validate tokens.
	WithoutKeystone bool
	// Port on which the process serves HTTPS. 0: it has no port.
	Port int32
	// Exposure configures access from outside the cluster. Nil: it is not exposed.
	Exposure *common.ServiceExposure
	// Shared is true if the process has the same clients as the API of the service.
	Shared bool
	// IngressFrom are further networks with access to the process, such as 10.0.0.0/24.
	IngressFrom []string
	// Ready is the readiness check of a pod. For a process with a port, it is also the liveness check. The application of a
	// Server is checked once, at its start.
	Ready workload.Check
	// Alive is the liveness check of a process without a port. It is separate because a failing Ready may have an external
	// cause.
	Alive workload.Check
	// TerminationGracePeriod is the time for which the process may continue its work while its pod stops.
	TerminationGracePeriod time.Duration
	// Privileges of its pods beyond the restricted Pod Security Standard, with reasons.
	Privileges []workload.Privilege
	// Annotations of its pods record the inputs with which they started. The annotations of all pods are added.
	Annotations map[string]string
	// Env, Mounts and Egress are added to the pods of this process only.
	Env    []corev1.EnvVar
	Mounts []Volume
	Egress []workload.Flow
}

// file returns the name of the uWSGI configuration file of the process.
func (p Process) file() string { return p.Name + ".ini" }

// resource returns the name of a composed resource of the process, other than its workload.
func (p Process) resource(suffix string) string { return p.Name + "-" + suffix }

// CheckAmounts returns an error for invalid quantities. A resource that is rendered without an API server is not validated
// by the schema.
func CheckAmounts(field string, p common.Process) error {
	var errs []error
	if p.CPU != nil {
		_, err := quantity.Parse(field+".cpu", p.CPU.String(), "500m")
		errs = append(errs, err)
	}
	if p.Memory != "" {
		_, err := quantity.Parse(field+".memory", string(p.Memory), "1Gi")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckProcess returns an error for a memory limit that is too low for a daemon to start. The number of workers of a WSGI
// application is derived from its memory.
func CheckProcess(field string, p common.Process) error {
	if err := CheckAmounts(field, p); err != nil {
		return err
	}
	limit := amount(Resources(p), func(r *common.Resources) *common.ResourceAmounts { return r.Limits })
	if limit == nil || limit.Value() >= least {
		return nil
	}
	return invalid.Field(field+".memory", "%s cannot hold a process, which needs %s; give %[2]s or more", limit, bytes(least))
}

// Serve returns the uWSGI server of a WSGI application. The number of workers is set in the spec or derived from the
// memory.
func (b *Base) Serve(p Process, module string) *workload.UWSGI {
	u := b.serve(p.Name, module, p.Port, cmp.Or(b.workers, Processes(Resources(p.Process))))
	u.TerminationGracePeriod = p.TerminationGracePeriod
	return &u
}

// Resources returns the resources of a pod of a process.
func Resources(p common.Process) *common.Resources {
	requests, limits := common.ResourceAmounts{}, common.ResourceAmounts{}
	// CheckAmounts reports invalid quantities.
	if p.CPU != nil {
		if q, err := resource.ParseQuantity(p.CPU.String()); err == nil {
			requests.CPU = &q
		}
	}
	if p.Memory != "" {
		if q, err := resource.ParseQuantity(string(p.Memory)); err == nil {
			requests.Memory, limits.Memory = &q, &q
		}
	}
	out := &common.Resources{}
	if requests != (common.ResourceAmounts{}) {
		out.Requests = &requests
	}
	if limits != (common.ResourceAmounts{}) {
		out.Limits = &limits
	}
	return out
}

// PlacedWorkload returns the workload of a process with the placement of its service.
func PlacedWorkload(p common.Process, on common.Placement) *common.Workload {
	return &common.Workload{Replicas: p.Replicas, Resources: Resources(p), Placement: on}
}

// Daemon returns the component that runs the processes with this name or with this Component. It is disabled if the
// instance has none.
func Daemon[M Instance](name string, needs []string, rollsAfter ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: name, Needs: needs, RolloutAfter: rollsAfter,
		Enabled: func(m M) bool { return len(m.Embedded().processes(name)) > 0 },
		Build: func(m M) ([]compose.Stage, error) {
			s := m.Embedded()
			var stage compose.Stage
			for _, p := range s.processes(name) {
				stages, err := s.run(p)
				if err != nil {
					return nil, err
				}
				stage = append(stage, slices.Concat(stages...)...)
			}
			return []compose.Stage{stage}, nil
		},
		Version: func(m M) string { s := m.Embedded(); return versionOf(s.imageFor(s.processes(name)[0].Name)) },
	}
}

// Processes returns the processes of the service in addition to its API.
func (s *Service) Processes() []Process { return s.extension.Processes }

// processes returns the processes that a component runs.
func (s *Service) processes(component string) []Process {
	var out []Process
	for _, p := range s.extension.Processes {
		if cmp.Or(p.Component, p.Name) == component {
			out = append(out, p)
		}
	}
	return out
}

// imageFor returns the image of a process. While the target release is not in effect, this is the current image.
func (b *Base) imageFor(process string) string {
	if b.running == nil {
		return b.Image
	}
	return cmp.Or(b.running(process), b.Image)
}

func (b *Base) processHost(process string) string {
	return fmt.Sprintf("%s.%s.svc", b.Sub(process), b.Namespace)
}

// ProcessWorkload returns the workload of a process.
func (b *Base) ProcessWorkload(p Process) workload.Workload {
	w := b.Workload.With(b.Sub(p.Name), p.Name)
	w.Replicas, w.Resources = ptr.Deref(p.Replicas, defaultReplicas), Resources(p.Process)
	if b.Quiesced {
		w.Replicas = 0
	}
	return w
}

// run returns the workload of a process and its related objects, such as its Service and network policy.
func (s *Service) run(p Process) ([]compose.Stage, error) {
	outbound, err := s.outbound(!p.WithoutKeystone)
	if err != nil {
		return nil, err
	}
	w := s.ProcessWorkload(p)
	var in []workload.Flow
	switch {
	case p.Port > 0 && p.Shared:
		in = s.inbound(p.Port, p.Exposure)
	case p.Port > 0:
		in = p.inbound()
	}
	stage := compose.Stage{
		{Name: p.Name},
		{Name: p.resource("disruption-budget"), Object: w.DisruptionBudget()},
		{Name: p.resource("network-policy"), Object: w.NetworkPolicy(in, append(outbound, p.Egress...))},
	}
	var pods *corev1.PodTemplateSpec
	if p.Stateful {
		// There is no headless Service, because its pods are not addressed by name.
		set := w.StatefulSet(s.ProcessPod(p))
		stage[0].Object, pods = set, &set.Spec.Template
	} else {
		set := w.Deployment(s.ProcessPod(p))
		stage[0].Object, pods = set, &set.Spec.Template
	}
	if err := workload.Allow(pods, p.Privileges...); err != nil {
		return nil, err
	}
	if p.Port > 0 {
		stage = append(stage, compose.Resource{Name: p.resource("service"), Object: w.Service(workload.Port(portName, p.Port))})
	}
	stages := []compose.Stage{stage}
	if e := p.Exposure; e != nil && e.Type != exposure.None {
		stages[0] = append(stages[0], s.expose(s.Meta(w.Name), *e, exposure.Backend{
			Service: w.Name, Port: p.Port, Host: s.processHost(p.Name), CASecret: s.Sub(serverTLS), CAConfigMap: s.CAConfigMap,
			Limits: s.limits(p.Name),
		}, p.Name+"-")...)
	}
	return stages, nil
}

// inbound returns the allowed clients of a process: users through its exposure, and IngressFrom. Other pods of its
// namespace have no access.
func (p Process) inbound() []workload.Flow {
	ports := []int32{p.Port}
	var in []workload.Flow
	if e := p.Exposure; e != nil && e.Type != exposure.None {
		from := exposure.Namespaces(e)
		in = append(in, workload.Flow{Anywhere: len(from) == 0, Namespaces: from, Ports: ports})
	}
	if len(p.IngressFrom) > 0 {
		in = append(in, workload.Flow{Blocks: p.IngressFrom, Ports: ports})
	}
	return in
}

// ProcessPod returns the pod of a process.
func (s *Service) ProcessPod(p Process) workload.Pod {
	command := p.Command
	if p.Server != nil {
		command = []string{"uwsgi", "--ini", s.Path(p.file())}
	}
	pod := s.Pod(s.imageFor(p.Name), s.Files, command)
	pod.GraceSeconds = workload.Grace(p.TerminationGracePeriod)
	pod.Annotations = s.extension.Pods.Annotations
	if len(p.Annotations) > 0 {
		pod.Annotations = maps.Clone(p.Annotations)
		maps.Copy(pod.Annotations, s.extension.Pods.Annotations)
	}
	c := &pod.Containers[0]
	s.useCache(c, slices.Contains(p.Logins, authToken))
	if p.Server != nil {
		s.mountConfig(c, p.file(), workload.HealthFile)
	}
	if len(p.Logins) > 0 {
		s.LogIn(&pod, p.Logins...)
	}
	if s.Queue {
		c.Env = append(c.Env, s.processName(p.Name))
	}
	for _, v := range p.Mounts {
		v.mount(&pod)
	}
	c.Env = append(c.Env, p.Env...)
	if p.Port == 0 {
		workload.Readiness(c, p.Ready)
		workload.Liveness(c, p.Alive)
		return pod
	}
	s.SecretVolume(serverTLS, s.Sub(serverTLS), certificate.CertKey, certificate.KeyKey).mount(&pod)
	c.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: p.Port}}
	if p.Server != nil {
		workload.Health(c, p.Ready)
	} else {
		workload.Probe(c, p.Ready)
	}
	workload.Drain(c)
	return pod
}

// ProcessPort is the name of the port on which a process is reachable.
const ProcessPort = portName

// CertificateFile returns the path of the server certificate in pods that serve HTTPS.
func (b *Base) CertificateFile() string { return b.Path(serverTLS, certificate.CertKey) }

// KeyFile returns the path of the private key of the server certificate.
func (b *Base) KeyFile() string { return b.Path(serverTLS, certificate.KeyKey) }

// processAlerts returns the alerts for a process. They are the same as for the API, with the name of the process.
func (s *Service) processAlerts(p Process) []monitoring.Alert {
	name, runbook := s.Title+camelCase(p.Name), s.Title+camelCase(cmp.Or(p.Component, p.Name))
	return s.podAlerts(name, runbook, p.Title, p.Outage, s.Sub(p.Name), p.Stateful)
}

// camelCase joins the words of a name that contains hyphens.
func camelCase(name string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
