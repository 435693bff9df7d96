package wiring

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// addPods records the pods of every template in an object, at any depth.
func (w *inventory) addPods(o object) {
	each(o.spec(), nil, func(path []string, m fields) {
		if len(list(m, "template", "spec", "containers")) == 0 || slices.Contains(path, "override") { // A patch of an operator's pods.
			return
		}
		p := &pod{namespaceRef: o.namespaceRef, of: o, labels: labels.Set(stringMap(m, "template", "metadata", "labels")),
			spec: &corev1.PodSpec{}}
		into(at(m, "template", "spec"), p.spec)
		p.privileges = privileges(stringMap(m, "template", "metadata", "annotations")[privilegeAnnotation])
		if ends := p.spec.RestartPolicy; ends == "" || ends == corev1.RestartPolicyAlways {
			n, ok := number(m, "replicas")
			if !ok {
				n = 1
			}
			p.replicas = &n
		} else {
			// Kubernetes itself labels the pods of Jobs
			// (https://kubernetes.io/docs/reference/labels-annotations-taints/#batch-kubernetes-io-job-name).
			p.labels[jobLabel] = o.name
		}
		for _, c := range p.spec.Containers {
			for _, cp := range c.Ports {
				p.ports = append(p.ports, port{cp.Name, int(cp.ContainerPort)})
			}
		}
		w.pods = append(w.pods, p)
	})
}

// privilegeAnnotation has a line for each container that may do more than the restricted standard allows: its name, a colon and why.
const privilegeAnnotation = "crossplane.c5c3.io/privileges"

func privileges(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && why != "" {
			out[name] = why
		}
	}
	return out
}

const jobLabel = "batch.kubernetes.io/job-name"

// A podRule is one control of the restricted Pod Security Standard, including the baseline
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/), or one of this project.
type podRule struct {
	// message is the predicate of a sentence about the pod or its container.
	message string
	// privilege: it may be broken for a reason, by the container that has it; as to the pod, by any.
	privilege bool
	// pod and container report whether the rule is violated. Nil: not applicable.
	pod       func(*pod) bool
	container func(*pod, corev1.Container) bool
}

var podRules = []podRule{
	{message: "uses a namespace of its host", privilege: true, pod: func(p *pod) bool {
		return p.spec.HostNetwork || p.spec.HostPID || p.spec.HostIPC
	}},
	{message: "is a process of a Windows host", pod: func(p *pod) bool { return podSecurity(p).WindowsOptions != nil },
		container: func(_ *pod, c corev1.Container) bool { return security(c).WindowsOptions != nil }},
	{message: "takes a port of its host", container: func(_ *pod, c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
	}},
	{message: "is privileged", privilege: true, container: func(_ *pod, c corev1.Container) bool {
		return ptr.Deref(security(c).Privileged, false)
	}},
	{message: "sets SELinux options", pod: func(p *pod) bool { return podSecurity(p).SELinuxOptions != nil },
		container: func(_ *pod, c corev1.Container) bool { return security(c).SELinuxOptions != nil }},
	{message: "sets an AppArmor profile", container: func(_ *pod, c corev1.Container) bool { return security(c).AppArmorProfile != nil }},
	{message: "sets a mount of /proc", container: func(_ *pod, c corev1.Container) bool { return security(c).ProcMount != nil }},
	{message: "sets sysctls", pod: func(p *pod) bool { return len(podSecurity(p).Sysctls) > 0 }},
	{message: "mounts a path of its host", privilege: true, container: func(p *pod, c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return slices.ContainsFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.HostPath != nil })
		})
	}},
	{message: "mounts a share that its host mounts for it", privilege: true, pod: func(p *pod) bool {
		return slices.ContainsFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.NFS != nil })
	}},
	{message: "mounts a volume of a kind that the restricted standard does not allow", pod: func(p *pod) bool {
		return slices.ContainsFunc(p.spec.Volumes, func(v corev1.Volume) bool {
			return v.HostPath == nil && v.NFS == nil && v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil && v.Projected == nil &&
				v.PersistentVolumeClaim == nil && v.DownwardAPI == nil
		})
	}},
	{message: "may gain privileges", privilege: true, container: func(_ *pod, c corev1.Container) bool {
		return ptr.Deref(security(c).AllowPrivilegeEscalation, true)
	}},
	{message: "may run as root", privilege: true, container: func(p *pod, c corev1.Container) bool {
		return !ptr.Deref(security(c).RunAsNonRoot, ptr.Deref(podSecurity(p).RunAsNonRoot, false))
	}},
	{message: "runs as root", pod: func(p *pod) bool { return ptr.Deref(podSecurity(p).RunAsUser, 1) == 0 }},
	{message: "is root", privilege: true, container: func(_ *pod, c corev1.Container) bool {
		return ptr.Deref(security(c).RunAsUser,
			1) == 0
	}},
	{message: "has no seccomp profile", container: func(p *pod, c corev1.Container) bool {
		profile := security(c).SeccompProfile
		if profile == nil {
			profile = podSecurity(p).SeccompProfile
		}
		return profile == nil || profile.Type != corev1.SeccompProfileTypeRuntimeDefault && profile.Type != corev1.SeccompProfileTypeLocalhost
	}},
	{message: "has a capability", privilege: true, container: func(_ *pod, c corev1.Container) bool {
		return len(ptr.Deref(security(c).Capabilities, corev1.Capabilities{}).Add) > 0
	}},
	{message: "does not drop all capabilities", container: func(_ *pod, c corev1.Container) bool {
		caps := security(c).Capabilities
		return caps == nil || len(caps.Drop) != 1 || caps.Drop[0] != "ALL"
	}},

	// Ours.
	{message: "writes to its root file system", container: func(_ *pod, c corev1.Container) bool {
		return !ptr.Deref(security(c).ReadOnlyRootFilesystem, false)
	}},
	{message: "has a token of the API server, and no separate service account", pod: func(p *pod) bool {
		return ptr.Deref(p.spec.AutomountServiceAccountToken, true) && p.spec.ServiceAccountName == ""
	}},
	{message: "gets the addresses of all Services as environment variables", pod: func(p *pod) bool {
		return ptr.Deref(p.spec.EnableServiceLinks, true)
	}},
	{message: "runs an image of no fixed version", container: func(_ *pod, c corev1.Container) bool {
		name := c.Image[strings.LastIndex(c.Image, "/")+1:]
		return strings.HasSuffix(name, ":latest") || !strings.ContainsAny(name, ":@")
	}},
	{message: "does not request CPU", container: func(_ *pod, c corev1.Container) bool { return c.Resources.Requests.Cpu().IsZero() }},
	{message: "does not request memory", container: func(_ *pod, c corev1.Container) bool { return c.Resources.Requests.Memory().IsZero() }},
	{message: "has no limit of memory", container: func(_ *pod, c corev1.Container) bool { return c.Resources.Limits.Memory().IsZero() }},

	{message: "has no liveness probe", container: func(p *pod, c corev1.Container) bool {
		return p.replicas != nil && c.LivenessProbe == nil && readinessOnlyContainers[c.Name] == "" && !isInit(p, c)
	}},
	{message: "has ports and no readiness probe", container: func(p *pod, c corev1.Container) bool {
		return p.replicas != nil && len(c.Ports) > 0 && c.ReadinessProbe == nil && !isInit(p, c)
	}},
	{message: "has no startup probe, and no reason to have none", container: func(p *pod, c corev1.Container) bool {
		return p.replicas != nil && c.StartupProbe == nil && startsAtOnce[c.Name] == "" && !isInit(p, c)
	}},
	{message: "has a probe at a port that no container of its pod has", container: func(p *pod, c corev1.Container) bool {
		return !probesExistingPort(p, c)
	}},
	{message: "has a probe without TLS at a port with TLS, or the other way", container: probeSchemeDiffers},
	{message: "stops before it is out of the Services, and has no reason to", container: func(p *pod, c corev1.Container) bool {
		// No Service leads to pods without ports.
		return p.replicas != nil && len(p.ports) > 0 && (c.Lifecycle == nil || c.Lifecycle.PreStop == nil) &&
			stopsAtOnce[c.Name] == "" && !isInit(p, c)
	}},
	{message: "is killed before its requests are finished", pod: func(p *pod) bool {
		return p.replicas != nil && drains(p) && ptr.Deref(p.spec.TerminationGracePeriodSeconds, 30) < int64(longestStop(p))
	}},
	{message: "is not spread over nodes and zones", pod: func(p *pod) bool { return ptr.Deref(p.replicas, 0) > 1 && !spread(p) }},
	{message: "listens at a port that no file, argument or default of its program names", container: listensOnUnnamedPort},
}

// startsAtOnce are the containers that need no startup probe, and why.
var startsAtOnce = map[string]string{
	"memcached": "it listens within a second of its start, and reads nothing",
	"companion": "it serves /healthz before it has read anything",
	"check":     "its process sleeps",
}

// readinessOnlyContainers are the containers that need only a readiness probe, and why.
var readinessOnlyContainers = map[string]string{"check": "its process sleeps, and its only purpose is its readiness"}

// stopsAtOnce are the containers that need not wait until they are out of the Services, and why.
var stopsAtOnce = map[string]string{
	"memcached": "its data is a cache: a client that does not reach it queries the database",
	"companion": "its only clients scrape its metrics; it releases its lease when it is stopped",
	"ovn":       "clients know every member by its name, and go to another one when it closes their connection",
}

// listens are the ports that programs listen on by default, by container.
var listens = map[string][]int{
	"memcached": {11211},      // https://docs.memcached.org/serverguide/configuring/
	"companion": {8443, 8081}, // companion/main.go: --metrics-bind-address, --health-probe-bind-address
}

func podSecurity(p *pod) corev1.PodSecurityContext {
	return ptr.Deref(p.spec.SecurityContext, corev1.PodSecurityContext{})
}

func security(c corev1.Container) corev1.SecurityContext {
	return ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
}

func isInit(p *pod, c corev1.Container) bool {
	return slices.ContainsFunc(p.spec.InitContainers, func(i corev1.Container) bool { return i.Name == c.Name })
}

// checkPods checks the rules for every emitted pod.
func (w *inventory) checkPods() {
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, r := range podRules {
			if r.pod != nil && (!r.privilege || len(p.privileges) == 0) && r.pod(p) {
				w.foundf("%s %s.", p, r.message)
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				if r.container != nil && (!r.privilege || p.privileges[c.Name] == "") && r.container(p, c) {
					w.foundf("%s: container %s %s.", p, c.Name, r.message)
				}
			}
		}
	}
}

func probesOf(c corev1.Container) []*corev1.Probe {
	all := []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
	return slices.DeleteFunc(all, func(p *corev1.Probe) bool { return p == nil })
}

// probed returns the port of a probe; 0 if it uses no port, or a port that its container does not name.
func probed(c corev1.Container, p *corev1.Probe) (number int, network bool) {
	var target string
	switch {
	case p.HTTPGet != nil:
		target = p.HTTPGet.Port.String()
	case p.TCPSocket != nil:
		target = p.TCPSocket.Port.String()
	default:
		return 0, false
	}
	if n, err := strconv.Atoi(target); err == nil {
		return n, true
	}
	for _, cp := range c.Ports {
		if cp.Name == target {
			return int(cp.ContainerPort), true
		}
	}
	return 0, true
}

func probesExistingPort(p *pod, c corev1.Container) bool {
	return !slices.ContainsFunc(probesOf(c), func(probe *corev1.Probe) bool {
		n, network := probed(c, probe)
		return network && !p.hasPort(n)
	})
}

func probeSchemeDiffers(p *pod, c corev1.Container) bool {
	return slices.ContainsFunc(probesOf(c), func(probe *corev1.Probe) bool {
		n, _ := probed(c, probe)
		_, tls := p.tls[n]
		return probe.HTTPGet != nil && p.hasPort(n) && tls != (probe.HTTPGet.Scheme == corev1.URISchemeHTTPS)
	})
}

func drains(p *pod) bool {
	return slices.ContainsFunc(p.spec.Containers, func(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PreStop != nil })
}

// gracePeriodOptions are the options with the seconds in which servers complete requests after a stop signal.
var gracePeriodOptions = []string{"worker-reload-mercy", "GracefulShutdownTimeout"}

// longestStop returns how many seconds a pod may take to stop: it waits, and then completes its requests.
func longestStop(p *pod) int {
	wait, finish := 0, 0
	for _, c := range p.spec.Containers {
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			wait = max(wait, int(c.Lifecycle.PreStop.Sleep.Seconds))
		}
	}
	for _, content := range p.files {
		for line := range strings.SplitSeq(content, "\n") {
			namePurposes := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '=' })
			if len(namePurposes) == 2 && slices.Contains(gracePeriodOptions, namePurposes[0]) {
				n, _ := strconv.Atoi(namePurposes[1])
				finish = max(finish, n)
			}
		}
	}
	return wait + finish
}

// spread reports whether pods of a kind prefer different nodes and zones.
func spread(p *pod) bool {
	over := map[string]bool{}
	for _, c := range p.spec.TopologySpreadConstraints {
		if c.LabelSelector != nil && selects(c.LabelSelector, p.labels) {
			over[c.TopologyKey] = true
		}
	}
	return over[corev1.LabelHostname] && over[corev1.LabelTopologyZone]
}

// listensOnUnnamedPort reports whether the container's configuration does not contain one of its ports.
func listensOnUnnamedPort(p *pod, c corev1.Container) bool {
	for _, cp := range c.Ports {
		n := int(cp.ContainerPort)
		named := slices.Contains(listens[c.Name], n)
		for _, t := range slices.Concat(c.Args, slices.Collect(maps.Values(p.files))) {
			named = named || strings.Contains(t, fmt.Sprint(":", n)) || strings.Contains(t, fmt.Sprint("Listen ", n)) ||
				strings.Contains(t, fmt.Sprintf("_port = %d\n", n))
		}
		for _, e := range c.Env { // A script may listen at a port from its environment.
			named = named || e.Value == fmt.Sprint(n)
		}
		if !named {
			return true
		}
	}
	return false
}

// checkBudgets checks that workloads with several pods have a disruption budget that allows a node to be drained, and
// not two pods at once.
func (w *inventory) checkBudgets() {
	for _, p := range w.pods {
		if p.spec == nil || p.replicas == nil {
			continue
		}
		budgets := 0
		for _, o := range w.objects {
			if !o.is("PodDisruptionBudget.policy") || o.namespaceRef != p.namespaceRef || !selectsMap(at(o.manifest, "spec", "selector"), p.labels) {
				continue
			}
			budgets++
			if n, ok := number(o.manifest, "spec", "maxUnavailable"); !ok || n != 1 {
				w.foundf("%s does not let exactly one pod of %s go at a time.", o, p)
			}
		}
		if budgets > 1 || budgets == 0 && *p.replicas > 1 {
			w.foundf("%s has %d pods and %d disruption budgets.", p, *p.replicas, budgets)
		}
	}
}
