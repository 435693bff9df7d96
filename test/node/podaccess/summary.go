package podaccess

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/c5c3/crossplane-cobaltcore/test/node/policy"
)

// Kind is the summary of one container of one kind of pod. Its texts contain no names that differ between clusters.
type Kind struct {
	// Pods is the kind and the name of the object that creates the pods, and the container if they have several.
	Pods string `json:"pods"`
	// Privileges are the user, and the differences to the restricted Pod Security Standard.
	Privileges []string `json:"privileges,omitempty"`
	// Mounts are volumes: the path, the source, and whether the user can write it.
	Mounts []string `json:"mounts,omitempty"`
	// Writable are paths outside of volumes that the user can write.
	Writable []string `json:"writable,omitempty"`
	// Files, Variables and Processes contain credentials.
	Files     []string `json:"files,omitempty"`
	Variables []string `json:"variables,omitempty"`
	Processes []string `json:"processes,omitempty"`
	// Special are devices and Unix sockets.
	Special []string `json:"special,omitempty"`
	// Account and Rights are of its tokens of Kubernetes.
	Account []string `json:"account,omitempty"`
	Rights  []string `json:"rights,omitempty"`
	// Listens are the ports of the pod that accept connections.
	Listens []string `json:"listens,omitempty"`
	// Servers have the ports that accept connections from the pod and that network policies allow.
	Servers []string `json:"reaches,omitempty"`
}

// sections are the lists of a Kind by name.
func (k *Kind) sections() map[string]*[]string {
	return map[string]*[]string{
		"privileges": &k.Privileges, "mounts": &k.Mounts, "writable": &k.Writable, "files": &k.Files, "variables": &k.Variables,
		"processes": &k.Processes, "special": &k.Special, "account": &k.Account, "rights": &k.Rights, "listens": &k.Listens,
		"reaches": &k.Servers,
	}
}

// Summarize returns the summary of an observation, sorted. Pods of the same kind are one entry.
func Summarize(o *Observation) []Kind {
	s := newSummary(o)
	kinds := map[string]*Kind{}
	for i := range o.Containers {
		c := &o.Containers[i]
		if c.Facts == nil {
			continue
		}
		k := s.kind(c)
		if kinds[k.Pods] == nil {
			kinds[k.Pods] = &k
			continue
		}
		for name, list := range k.sections() {
			all := kinds[k.Pods].sections()[name]
			*all = append(*all, *list...)
		}
	}
	var out []Kind
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		for _, list := range k.sections() {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		out = append(out, *k)
	}
	return out
}

// summary contains an observation by its addresses and names.
type summary struct {
	*Observation
	byName, byAddress map[string]*corev1.Pod
	policies          policy.Cluster
	nodes             []string
	// open are the addresses that accept a connection from any probe: the network of the test enforces no policy, so that all probes find
	// the same, unless a packet is lost.
	open []string
}

func newSummary(o *Observation) *summary {
	s := &summary{Observation: o, byName: map[string]*corev1.Pod{}, byAddress: map[string]*corev1.Pod{}}
	s.policies = policy.Cluster{Policies: o.Policies, Namespaces: map[string]labels.Set{}}
	for i := range o.Namespaces {
		s.policies.Namespaces[o.Namespaces[i].Name] = o.Namespaces[i].Labels
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		s.byName[p.Namespace+"/"+p.Name] = p
		s.nodes = append(s.nodes, p.Status.HostIP)
		if !p.Spec.HostNetwork && p.Status.Phase == corev1.PodRunning {
			s.byAddress[p.Status.PodIP] = p
		}
	}
	for _, c := range o.Containers {
		s.open = append(s.open, c.Open...)
	}
	slices.Sort(s.open)
	s.open = slices.Compact(s.open)
	return s
}

// original returns the pod of a container, or the one of which it is a copy.
func (s *summary) original(c *Container) *corev1.Pod {
	if c.CopyOf == "" {
		return s.byName[c.Namespace+"/"+c.Pod]
	}
	p := s.Originals[c.CopyOf]
	p.Namespace = c.Namespace
	return &p
}

// kind returns the summary of one container.
func (s *summary) kind(c *Container) Kind {
	pod := s.original(c)
	spec := containerOf(pod, c.Container)
	k := Kind{Pods: s.title(c, pod), Privileges: privileges(c.Facts), Servers: s.servers(c, pod)}
	if c.CopyOf != "" && groupOf(pod, spec) == nil { // It is of the original's image, and copies have another image.
		k.Privileges[0] = fmt.Sprintf("user %d", c.Facts.UID)
	}
	k.Mounts, k.Writable = s.mounts(c.Facts, pod, spec)
	for _, f := range c.Facts.Files {
		isPublic := slices.ContainsFunc(public, func(end string) bool { return strings.HasSuffix(f.Name, end) })
		if !strings.HasPrefix(f.Name, "/dev/shm/") && !isPublic {
			k.Files = append(k.Files, f.Form+" "+s.stable(f.Name))
		}
	}
	for _, v := range c.Facts.Variables {
		k.Variables = append(k.Variables, fmt.Sprintf("%s from %s", v.Name, s.stable(sourceOf(spec, v.Name))))
	}
	for _, p := range c.Facts.Processes {
		if c.CopyOf == "" {
			k.Processes = append(k.Processes, p.Form+" "+p.Name)
		}
	}
	for _, path := range c.Facts.Devices {
		k.Special = append(k.Special, "device "+path)
	}
	for _, path := range c.Facts.Sockets {
		k.Special = append(k.Special, "socket "+s.stable(path))
	}
	s.accounts(&k, c)
	for _, l := range c.Facts.Listens {
		if c.CopyOf == "" && l.Port < ephemeral {
			k.Listens = append(k.Listens, listener(l))
		}
	}
	return k
}

// accounts adds the accounts of Kubernetes whose tokens are in a container, and their rights.
func (s *summary) accounts(k *Kind, c *Container) {
	for _, t := range c.Facts.API.Tokens {
		k.Account = append(k.Account, s.stable(t.User))
		for _, r := range t.Rules {
			k.Rights = append(k.Rights, s.right(r))
		}
		for _, a := range t.Allowed {
			k.Rights = append(k.Rights, "escalation: "+a)
		}
	}
}

// public are the ends of the paths of files that look like keys and are names.
var public = []string{"/etc/hostname", "/etc/machine-id", "/etc/ovn/state/cluster-id", "/serviceaccount/namespace"}

// groupOf returns the group of a container, or nil if it is the one of its image.
func groupOf(pod *corev1.Pod, spec *corev1.Container) *int64 {
	if spec.SecurityContext != nil && spec.SecurityContext.RunAsGroup != nil {
		return spec.SecurityContext.RunAsGroup
	}
	if pod.Spec.SecurityContext != nil {
		return pod.Spec.SecurityContext.RunAsGroup
	}
	return nil
}

// listener returns a readable socket: 5000, or localhost 8080.
func listener(l Socket) string {
	port := strconv.Itoa(l.Port)
	if l.Protocol != "tcp" {
		port = strings.ToUpper(l.Protocol) + " " + port
	}
	if a, err := netip.ParseAddr(l.Address); err == nil && a.IsLoopback() {
		return "localhost " + port
	}
	return port
}

// title returns the kind and the name of the creator of a pod, and the container if there are several.
func (s *summary) title(c *Container, pod *corev1.Pod) string {
	name := c.CopyOf
	if name == "" {
		name = Owner(pod)
	}
	name = s.stable(name)
	if pod.Namespace != s.Namespace {
		name = pod.Namespace + "/" + name
	}
	if len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > 1 {
		name += " " + c.Container
	}
	return name
}

func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, all := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return &corev1.Container{}
}

// privileges returns the user, and the privileges that the restricted Pod Security Standard denies.
func privileges(f *Facts) []string {
	out := []string{fmt.Sprintf("user %d, group %d", f.UID, f.GID)}
	for _, c := range f.Capabilities {
		out = append(out, "capability "+c)
	}
	if !f.NoNewPrivileges {
		out = append(out, "gains privileges by programs")
	}
	if f.Seccomp != "filter" {
		out = append(out, "all system calls")
	}
	return out
}

// ofKubelet are mounts that the kubelet adds to each container.
var ofKubelet = []string{"/", "/dev/shm", "/dev/termination-log", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}

// ofRuntime are paths that the user of each container can write.
var ofRuntime = []string{"/dev/mqueue", "/dev/shm", "/dev/termination-log"}

// mounts returns the volumes of a container, and the other paths that its user can write.
func (s *summary) mounts(f *Facts, pod *corev1.Pod, spec *corev1.Container) (volumes, writable []string) {
	rest := slices.Clone(f.Writable)
	for _, m := range f.Mounts {
		if slices.Contains(ofKubelet, m.Path) {
			continue
		}
		source := "unknown"
		if i := slices.IndexFunc(spec.VolumeMounts, func(v corev1.VolumeMount) bool {
			path := strings.TrimSuffix(v.MountPath, "/")
			return path == m.Path || path == "/var"+m.Path // In some images, /var/run is a link to /run.
		}); i >= 0 {
			source = volumeOf(pod, spec.VolumeMounts[i].Name)
		}
		mode := "read-only"
		if !m.ReadOnly {
			mode = "not writable"
			if slices.Contains(f.Writable, m.Path) || slices.Contains(f.Writable, "/") {
				mode = "writable"
			}
		}
		rest = slices.DeleteFunc(rest, func(path string) bool { return path == m.Path })
		volumes = append(volumes, s.stable(fmt.Sprintf("%s: %s, %s", m.Path, source, mode)))
	}
	for _, path := range rest {
		if !slices.Contains(ofRuntime, path) {
			writable = append(writable, s.stable(path))
		}
	}
	return volumes, writable
}

// volumeOf returns the kind and the name of the source of a volume.
func volumeOf(pod *corev1.Pod, name string) string {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Name != name {
			continue
		}
		switch {
		case v.Secret != nil:
			return "Secret " + v.Secret.SecretName
		case v.ConfigMap != nil:
			return "ConfigMap " + v.ConfigMap.Name
		case v.EmptyDir != nil:
			return "emptyDir"
		case v.PersistentVolumeClaim != nil:
			return "PersistentVolumeClaim " + v.PersistentVolumeClaim.ClaimName
		case v.HostPath != nil:
			return "hostPath " + v.HostPath.Path
		case v.Projected != nil:
			return "projected " + projected(v.Projected)
		case v.DownwardAPI != nil:
			return "downward API"
		}
	}
	return "another volume"
}

// projected returns the sources of a projected volume.
func projected(v *corev1.ProjectedVolumeSource) string {
	var out []string
	for _, s := range v.Sources {
		switch {
		case s.Secret != nil:
			out = append(out, "Secret "+s.Secret.Name)
		case s.ConfigMap != nil:
			out = append(out, "ConfigMap "+s.ConfigMap.Name)
		case s.ServiceAccountToken != nil:
			out = append(out, "token")
		}
	}
	return strings.Join(out, " and ")
}

// sourceOf returns the source of a variable.
func sourceOf(c *corev1.Container, name string) string {
	for _, e := range c.Env {
		switch {
		case e.Name != name:
		case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil:
			return "Secret " + e.ValueFrom.SecretKeyRef.Name
		case e.ValueFrom != nil:
			return "a field"
		case strings.Contains(e.Value, "$("):
			return "other variables"
		default:
			return "the pod itself"
		}
	}
	for _, e := range c.EnvFrom {
		if e.SecretRef != nil {
			return "Secret " + e.SecretRef.Name
		}
	}
	return "the image"
}

// right returns a readable rule.
func (s *summary) right(r Rule) string {
	verbs := slices.Sorted(slices.Values(r.Verbs))
	text := strings.Join(verbs, ", ") + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if len(r.Names) > 0 {
		var names []string
		for _, n := range r.Names {
			names = append(names, s.stable(n))
		}
		slices.Sort(names)
		text += " " + strings.Join(slices.Compact(names), ", ")
	}
	if r.Everywhere {
		text += ", in each namespace"
	}
	return text
}

// hash is the end of a name that changes with content or by chance.
var hash = regexp.MustCompile(`-([0-9a-f]{8,22}|\d{8,})\b`)

// stable returns a text without the names and hashes that differ between clusters.
func (s *summary) stable(text string) string {
	return hash.ReplaceAllString(strings.ReplaceAll(text, s.Namespace, "INSTANCE"), "-…")
}

// servers returns the servers that accept connections from a container and that the policies of both sides allow.
func (s *summary) servers(c *Container, pod *corev1.Pod) []string {
	ports := map[string][]int{}
	from := policy.End{Pod: pod}
	if pod.Spec.HostNetwork {
		from = policy.End{Node: true}
	}
	for _, open := range s.open {
		host, text, err := net.SplitHostPort(open)
		port, numeric := strconv.Atoi(text)
		address, parsed := netip.ParseAddr(host)
		if err != nil || numeric != nil || parsed != nil {
			continue
		}
		to := policy.End{Address: address, Pod: s.byAddress[host], Node: slices.Contains(s.nodes, host)}
		var name string
		switch {
		case to.Pod != nil && (to.Pod.Annotations[CopyOf] != "" || c.Pod == to.Pod.Name):
			continue // A pod reaches itself; a copy is a part of the test.
		case to.Pod != nil:
			name = s.server(to.Pod)
		case to.Node:
			name = "node"
		case External[host] != "":
			name = External[host]
		default:
			continue // Its Service, whose pods are also in the list.
		}
		if s.allowed(from, to, corev1.ProtocolTCP, port) {
			ports[name] = append(ports[name], port)
		}
	}
	s.external(from, ports)
	for _, protocol := range []string{"", " UDP"} {
		if slices.Equal(ports[metadata+protocol], ports[anywhere+protocol]) {
			delete(ports, metadata+protocol)
		}
	}
	var out []string
	for name, all := range ports {
		out = append(out, name+" "+list(all))
	}
	return out
}

// external adds the ports of addresses outside that policies allow. The test has no network in which they could accept connections.
func (s *summary) external(from policy.End, ports map[string][]int) {
	for host, name := range External {
		to := policy.End{Address: netip.MustParseAddr(host)}
		for _, port := range s.Ports() {
			if s.allowed(from, to, corev1.ProtocolTCP, port) {
				ports[name] = append(ports[name], port)
			}
		}
		if s.allowed(from, to, corev1.ProtocolUDP, dns) {
			ports[name+" UDP"] = append(ports[name+" UDP"], dns)
		}
	}
}

// dns is the port of name servers.
const dns = 53

func (s *summary) allowed(from, to policy.End, protocol corev1.Protocol, port int) bool {
	return s.policies.Denied(policy.Flow{From: from, To: to, Protocol: protocol, Port: int32(port)}) == "" //nolint:gosec // a port
}

// server returns the name of a server.
func (s *summary) server(pod *corev1.Pod) string {
	_, name, _ := strings.Cut(s.stable(Owner(pod)), " ")
	if pod.Namespace == s.Namespace {
		return name
	}
	return pod.Namespace + "/" + name
}

// list returns sorted ports: 53, 443. Long lists are all ports.
func list(ports []int) string {
	slices.Sort(ports)
	ports = slices.Compact(ports)
	const many = 20
	if len(ports) > many {
		return "all ports"
	}
	var out []string
	for _, p := range ports {
		out = append(out, strconv.Itoa(p))
	}
	return strings.Join(out, ", ")
}
