package podaccess

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Observation is the result of all probes of a cluster, and the objects that exist at that time.
type Observation struct {
	// Namespace is the namespace of the control plane.
	Namespace  string                       `json:"namespace"`
	Pods       []corev1.Pod                 `json:"pods"`
	Namespaces []corev1.Namespace           `json:"namespaces"`
	Services   []corev1.Service             `json:"services"`
	Endpoints  []discoveryv1.EndpointSlice  `json:"endpoints"`
	Policies   []networkingv1.NetworkPolicy `json:"policies"`
	// Originals are the pods of which copies were probed, by owner.
	Originals  map[string]corev1.Pod `json:"originals"`
	Containers []Container           `json:"containers"`
}

// Container is a container with the observations of its probe.
type Container struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	ID        string `json:"id"`
	// CopyOf is the owner of the original of a copy.
	CopyOf string `json:"copyOf,omitempty"`
	Facts  *Facts `json:"facts"`
	// Open are the addresses that accept connections from this container.
	Open  []string `json:"open,omitempty"`
	Error string   `json:"error,omitempty"`
}

// CopyOf is the annotation of a copy of a pod: the owner of the original.
const CopyOf = "probe/copy-of"

// scheduled is the end of the name of a Job of a CronJob: its time in minutes.
var scheduled = regexp.MustCompile(`-\d{8}$`)

// Owner returns the kind and the name of the object that created a pod: of the workload, instead of a ReplicaSet or of a Job of a CronJob.
func Owner(pod *corev1.Pod) string {
	if len(pod.OwnerReferences) == 0 {
		return "Pod " + pod.Name
	}
	o := pod.OwnerReferences[0]
	switch {
	case o.Kind == "ReplicaSet":
		return "Deployment " + strings.TrimSuffix(o.Name, "-"+pod.Labels["pod-template-hash"])
	case o.Kind == "Job" && scheduled.MatchString(o.Name):
		return "CronJob " + scheduled.ReplaceAllString(o.Name, "")
	}
	return o.Kind + " " + o.Name
}

// Names of external addresses.
const (
	metadata = "metadata of the provider"
	anywhere = "any address"
)

// External are addresses that are no pod and no Service, with the name of each.
var External = map[string]string{
	"169.254.169.254": metadata,
	"198.51.100.1":    anywhere,
}

// nodePorts are ports of programs of a node, and of management in general.
var nodePorts = []int{
	22, 53, 80, 111, 179, 443, 636, 2375, 2376, 2379, 2380, 5000, 6443, 8080, 8443, 9100, 10248, 10249, 10250, 10255, 10256, 10257, 10259,
}

// Ports returns all ports that are known: of containers, Services, policies and listening sockets, except for ephemeral ones.
func (o *Observation) Ports() []int {
	out := slices.Concat(nodePorts, o.portsOfPods(), o.portsOfPolicies())
	for i := range o.Services {
		for _, p := range o.Services[i].Spec.Ports {
			out = append(out, int(p.Port), p.TargetPort.IntValue())
		}
	}
	for _, c := range o.Containers {
		if c.Facts == nil {
			continue
		}
		for _, s := range c.Facts.Listens {
			if s.Protocol == "tcp" && s.Port < ephemeral {
				out = append(out, s.Port)
			}
		}
	}
	out = slices.DeleteFunc(out, func(p int) bool { return p == 0 })
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *Observation) portsOfPods() []int {
	var out []int
	for i := range o.Pods {
		for _, c := range slices.Concat(o.Pods[i].Spec.InitContainers, o.Pods[i].Spec.Containers) {
			for _, p := range c.Ports {
				out = append(out, int(p.ContainerPort))
			}
		}
	}
	return out
}

func (o *Observation) portsOfPolicies() []int {
	var ports []networkingv1.NetworkPolicyPort
	for i := range o.Policies {
		for _, r := range o.Policies[i].Spec.Ingress {
			ports = append(ports, r.Ports...)
		}
		for _, r := range o.Policies[i].Spec.Egress {
			ports = append(ports, r.Ports...)
		}
	}
	var out []int
	for _, p := range ports {
		if p.Port != nil {
			out = append(out, p.Port.IntValue())
		}
	}
	return out
}

// ephemeral is the first port that the kernel assigns itself.
const ephemeral = 32768

// Addresses returns every address with every port to which probes connect.
func (o *Observation) Addresses() []string {
	ports := o.Ports()
	var hosts []string
	for i := range o.Pods {
		if s := &o.Pods[i].Status; s.Phase == corev1.PodRunning { // Others have lost their address.
			hosts = append(hosts, s.PodIP, s.HostIP)
		}
	}
	for address := range External {
		hosts = append(hosts, address)
	}
	slices.Sort(hosts)
	var out []string
	for _, h := range slices.Compact(hosts) {
		for _, p := range ports {
			if h != "" {
				out = append(out, net.JoinHostPort(h, strconv.Itoa(p)))
			}
		}
	}
	for i := range o.Services {
		s := &o.Services[i]
		for _, p := range s.Spec.Ports {
			if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone && p.Protocol != corev1.ProtocolUDP {
				out = append(out, net.JoinHostPort(s.Spec.ClusterIP, fmt.Sprint(p.Port)))
			}
		}
	}
	return out
}
