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
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Process is one of several of a service, besides its API: a daemon, or another application of WSGI.
type Process struct {
	common.Process
	// Name of the process: that of its workload's resource, and the end of its objects' names.
	Name string
	// Component that runs it, with others of its kind. Empty: one of its own, of its name.
	Component string
	// Title and Outage are what it is, and what does not work while no pod is available, in sentences.
	Title, Outage string
	// Command that runs it. Server, in its place, is the application (Serve).
	Command []string
	Server  *workload.UWSGI
	// Stateful says that pods have names that stay, such as those by which others know them. Without, their names are new in each roll-out.
	Stateful bool
	// Logins are the groups of options by which it logs in to Keystone. None: it does not.
	Logins []string
	// Port that it is reached at, by https. 0: by nobody.
	Port int32
	// Exposure says how it is reached from outside. Nil: it is not.
	Exposure *common.ServiceExposure
	// Shared says that it is an API as the service's own: whoever reaches that reaches it.
	Shared bool
	// IngressFrom are the networks that it is reached from besides: 10.0.0.0/24.
	IngressFrom []string
	// Ready is how a pod is found to work. One that is reached from elsewhere is restarted, too, if it does not. The application of a
	// Server answers it once, at its start.
	Ready workload.Check
	// Alive is how a pod that nobody reaches is found to need a restart, which Ready may not say: it may be somebody else's fault.
	Alive workload.Check
	// TerminationGracePeriod is how long it may go on with what it does while a pod stops.
	TerminationGracePeriod time.Duration
	// Privileges of its pods beyond the restricted Pod Security Standard, with reasons.
	Privileges []workload.Privilege
	// Annotations of its pods say what they started with, besides those of all pods.
	Annotations map[string]string
	// Env and Mounts are those of its pods alone, Reaches is where they go besides where all pods do.
	Env    []corev1.EnvVar
	Mounts []Volume
	Egress []workload.Flow
}

// file is the name of the configuration of an application's server.
func (p Process) file() string { return p.Name + ".ini" }

// resource of what a process consists of besides its workload.
func (p Process) resource(what string) string { return p.Name + "-" + what }

// CheckAmounts refuses what is no amount: a resource that someone renders or makes by hand went by no schema.
func CheckAmounts(field string, p common.Process) error {
	var errs []error
	if p.CPU != nil {
		if _, err := resource.ParseQuantity(p.CPU.String()); err != nil {
			errs = append(errs, invalid.Field(field+".cpu", "%q is no amount; write one such as 500m", p.CPU.String()))
		}
	}
	if p.Memory != "" {
		if _, err := resource.ParseQuantity(string(p.Memory)); err != nil {
			errs = append(errs, invalid.Field(field+".memory", "%q is no amount; write one such as 1Gi", p.Memory))
		}
	}
	return errors.Join(errs...)
}

// CheckProcess refuses a limit that ends a daemon as it starts. Applications of WSGI have as many workers as their memory holds.
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

// Serve is the server of an application of WSGI that a process runs, with as many workers as the spec says, or its memory holds.
func (s *Service) Serve(observed observe.State, p Process, module string) *workload.UWSGI {
	u := s.serve(p.Name, module, p.Port, cmp.Or(s.workers, Processes(Resources(p.Process))), SpeaksIPv6(observed, p.resource("service")))
	u.TerminationGracePeriod = p.TerminationGracePeriod
	return &u
}

// Resources are what a pod of a process gets.
func Resources(p common.Process) *common.Resources {
	requests, limits := common.ResourceAmounts{}, common.ResourceAmounts{}
	// What is no amount is refused by CheckAmounts, with a sentence.
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

// PlacedWorkload is the workload of a process on the nodes that a service runs on.
func PlacedWorkload(p common.Process, on common.Placement) *common.Workload {
	return &common.Workload{Replicas: p.Replicas, Resources: Resources(p), Placement: on}
}

// Daemon is a component that runs a process, by its name, or several that name it. One that the instance does not have is switched off.
func Daemon[M Instance](name string, needs []string, rollsAfter ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: name, Needs: needs, RolloutAfter: rollsAfter,
		Enabled: func(m M) bool { return len(m.Base().processes(name)) > 0 },
		Build: func(m M) ([]compose.Stage, error) {
			s := m.Base()
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
		Version: func(m M) string { s := m.Base(); return versionOf(s.imageFor(s.processes(name)[0].Name)) },
	}
}

// processes are those that a component runs.
func (s *Service) processes(component string) []Process {
	var out []Process
	for _, p := range s.Processes {
		if cmp.Or(p.Component, p.Name) == component {
			out = append(out, p)
		}
	}
	return out
}

// imageFor is the image of a process: until a release is in effect, that which it has.
func (s *Service) imageFor(process string) string {
	if s.running == nil {
		return s.Image
	}
	return cmp.Or(s.running(process), s.Image)
}

func (s *Service) processHost(process string) string {
	return fmt.Sprintf("%s.%s.svc", s.Sub(process), s.Namespace)
}

// ProcessWorkload is the workload of a process.
func (s *Service) ProcessWorkload(p Process) workload.Workload {
	w := s.Workload.With(s.Sub(p.Name), p.Name)
	w.Replicas, w.Resources = ptr.Deref(p.Replicas, defaultReplicas), Resources(p.Process)
	if s.Quiesced {
		w.Replicas = 0
	}
	return w
}

// run is the pods of a process, and what leads to them.
func (s *Service) run(p Process) ([]compose.Stage, error) {
	outbound, err := s.Outbound()
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
		// Nobody reaches its pods by their names, so that there is no headless Service.
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

// inbound is who reaches a process: users by its exposure, and its clients. Nobody else of its namespace has a reason to.
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

// ProcessPod is a pod of a process.
func (s *Service) ProcessPod(p Process) workload.Pod {
	command := p.Command
	if p.Server != nil {
		command = []string{"uwsgi", "--ini", s.Path(p.file())}
	}
	pod := s.Pod(s.imageFor(p.Name), s.Files, command)
	pod.GraceSeconds = workload.Grace(p.TerminationGracePeriod)
	pod.Annotations = s.Annotations
	if len(p.Annotations) > 0 {
		pod.Annotations = maps.Clone(p.Annotations)
		maps.Copy(pod.Annotations, s.Annotations)
	}
	c := &pod.Containers[0]
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

// ProcessPort is the name of the port that a process is reached at.
const ProcessPort = portName

// CertificateFile and KeyFile are where pods that are reached by https have the certificate and its key.
func (s *Service) CertificateFile() string { return s.Path(serverTLS, certificate.CertKey) }

// KeyFile is where the certificate's key is.
func (s *Service) KeyFile() string { return s.Path(serverTLS, certificate.KeyKey) }

// alerts on a process are those on the API, in its own words.
func (s *Service) processAlerts(p Process) []monitoring.Alert {
	var name strings.Builder
	name.WriteString(s.Title)
	for word := range strings.SplitSeq(p.Name, "-") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return s.podAlerts(name.String(), p.Title, p.Outage, s.Sub(p.Name), p.Stateful)
}
