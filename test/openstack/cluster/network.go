//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// numbers are the numbers of addresses, which are unique among the clusters of this machine.
var numbers atomic.Int32

// network assigns addresses and names. Names are lines of the sandbox's hosts file, which every pod has; lines are only
// added, so that a reader never sees an incomplete file.
type network struct {
	mu        sync.Mutex
	addresses map[string]string     // by name
	listeners map[string]io.Closer  // by protocol and address
	selectors map[string]labels.Set // of Services, by namespace and name
	silences  map[string]silence    // of Services, by the same name
	closed    bool
}

func newNetwork() *network {
	return &network{
		addresses: map[string]string{}, listeners: map[string]io.Closer{}, selectors: map[string]labels.Set{}, silences: map[string]silence{},
	}
}

// newAddress returns an address for a pod or a Service.
func newAddress() string {
	return sandbox.Address(numbers.Add(1) + 1)
}

// name returns the address of a set of names, always the same one.
func (n *network) name(names ...string) (address string, isNew bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.addresses[names[0]]; ok {
		return a, false, nil
	}
	address = newAddress()
	return address, true, n.add(address, names...)
}

// alias adds a name to an existing address, once.
func (n *network) alias(address, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.addresses[name]; ok {
		return nil
	}
	return n.add(address, name)
}

// add adds names to the hosts file.
func (n *network) add(address string, names ...string) error {
	for _, s := range names {
		n.addresses[s] = address
	}
	f, err := os.OpenFile(sandbox.Hosts, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(address + " " + strings.Join(names, " ") + "\n")
	return errors.Join(err, f.Close())
}

// podName returns the DNS name of a pod by address: 10-244-0-7.NAMESPACE.pod.
func podName(address, namespace string) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(address) + "." + namespace + ".pod"
}

// Dial connects to a name of the cluster. Go's resolver would find new names only after seconds.
func (c *Cluster) Dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c.network.mu.Lock()
	if a, ok := c.network.addresses[host]; ok {
		host = a
	}
	c.network.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, protocol, net.JoinHostPort(host, port))
}

// Address adds an address with these names to the sandbox.
func (c *Cluster) Address(names ...string) (string, error) {
	address, isNew, err := c.network.name(names...)
	if err == nil && isNew {
		err = sandbox.AddAddress(address)
	}
	return address, err
}

// Listen listens at a separate address for host names outside of the cluster, or for a fake Service.
func (c *Cluster) Listen(port int, names ...string) (net.Listener, error) {
	address, err := c.Address(names...)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port))) //nolint:noctx // on this machine
	if err != nil {
		return nil, err
	}
	c.network.keep(l, l.Addr())
	return l, nil
}

// keep registers a listener to be closed with the cluster.
func (n *network) keep(l io.Closer, address net.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address.Network()+" "+address.String()] = l
}

func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, l := range n.listeners {
		_ = l.Close()
	}
}

// domains returns the DNS names of a name in a namespace.
func domains(name, namespace string) []string {
	base := name + "." + namespace
	return []string{base + ".svc.cluster.local", base + ".svc", base}
}

// serve makes a Service reachable, once, and lead to the currently selected pods. A headless Service is a name for each
// of its pods, added when they start.
func (c *Cluster) serve(s *corev1.Service) error {
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	names := domains(s.Name, s.Namespace)
	c.network.mu.Lock()
	c.network.selectors[names[0]] = s.Spec.Selector
	c.network.mu.Unlock()
	for _, port := range s.Spec.Ports {
		address, err := c.Address(names...)
		if err != nil {
			return err
		}
		protocol := strings.ToLower(string(cmp.Or(port.Protocol, corev1.ProtocolTCP)))
		at := net.JoinHostPort(address, strconv.Itoa(int(port.Port)))
		c.network.mu.Lock()
		_, served := c.network.listeners[protocol+" "+at]
		c.network.mu.Unlock()
		if served {
			continue
		}
		if err := c.serveAt(protocol, at, s.DeepCopy(), port.TargetPort); err != nil {
			return fmt.Errorf("cannot serve Service %s: %w", s.Name, err)
		}
	}
	return nil
}

// serveAt forwards connections from an address of this machine to the pods of a Service.
func (c *Cluster) serveAt(protocol, address string, s *corev1.Service, target intstr.IntOrString) error {
	switch protocol {
	case "tcp":
		l, err := net.Listen(protocol, address) //nolint:noctx // on this machine
		if err != nil {
			return err
		}
		c.network.keep(l, l.Addr())
		go c.forward(l, s, target)
	case "udp":
		l, err := net.ListenPacket(protocol, address) //nolint:noctx // on this machine
		if err != nil {
			return err
		}
		c.network.keep(l, l.LocalAddr())
		go c.relay(l, s, target)
	default:
		return fmt.Errorf("the fake cluster does not know the protocol %s", protocol)
	}
	return nil
}

// largestPacket of UDP.
const largestPacket = 1 << 16

// relay forwards each client's packets to one pod, and the pod's responses back.
func (c *Cluster) relay(l net.PacketConn, s *corev1.Service, target intstr.IntOrString) {
	pods, packet := map[string]net.Conn{}, make([]byte, largestPacket)
	defer func() {
		for _, pod := range pods {
			_ = pod.Close()
		}
	}()
	for round := 0; ; round++ {
		n, client, err := l.ReadFrom(packet)
		if err != nil {
			return
		}
		pod := pods[client.String()]
		if pod == nil {
			ends := c.endpoints(s, target)
			if len(ends) == 0 {
				continue // no endpoint: the packet is dropped
			}
			if pod, err = net.Dial("udp", ends[round%len(ends)]); err != nil { //nolint:noctx // nothing is sent
				continue
			}
			pods[client.String()] = pod
			go answer(l, client, pod)
		}
		_, _ = pod.Write(packet[:n])
	}
}

// answer forwards a pod's packets to its client, until the pod is closed.
func answer(l net.PacketConn, client net.Addr, pod net.Conn) {
	packet := make([]byte, largestPacket)
	for {
		n, err := pod.Read(packet)
		if err != nil {
			return
		}
		_, _ = l.WriteTo(packet[:n], client)
	}
}

// forward forwards connections to ready pods that are not being stopped, in turn.
func (c *Cluster) forward(l net.Listener, s *corev1.Service, target intstr.IntOrString) {
	for round := 0; ; round++ {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		name := domains(s.Name, s.Namespace)[0]
		before := c.network.silence(name)
		if before.active {
			go discard(conn)
			continue
		}
		ends := c.endpoints(s, target)
		if len(ends) == 0 {
			fmt.Fprintf(c.Progress, "cluster: Service %s has no pod that is ready\n", s.Name)
			_ = conn.Close()
			continue
		}
		go c.splice(conn, ends[round%len(ends)], name, before.count)
	}
}

func (c *Cluster) endpoints(s *corev1.Service, target intstr.IntOrString) []string {
	c.network.mu.Lock()
	selector := labels.SelectorFromSet(c.network.selectors[domains(s.Name, s.Namespace)[0]])
	c.network.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldestFirst []*pod
	for _, p := range c.pods {
		if p.object.Namespace == s.Namespace && selector.Matches(labels.Set(p.object.Labels)) && p.ready.Load() && !p.stopping.Load() {
			oldestFirst = append(oldestFirst, p)
		}
	}
	var out []string
	for _, p := range oldestFirst {
		if port := portOf(p.object, target); port != 0 {
			out = append(out, net.JoinHostPort(p.address, strconv.Itoa(port)))
		}
	}
	return out
}

func portOf(p *corev1.Pod, target intstr.IntOrString) int {
	if target.Type == intstr.Int {
		return target.IntValue()
	}
	for _, container := range p.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == target.StrVal {
				return int(port.ContainerPort)
			}
		}
	}
	return 0
}

// splice forwards a connection to a pod. Service and count are the Service, and how often it was silent before.
func (c *Cluster) splice(from net.Conn, address, service string, count int) {
	defer from.Close()                  //nolint:errcheck // the other end knows
	to, err := net.Dial("tcp", address) //nolint:noctx // on this machine
	if err != nil {
		fmt.Fprintln(c.Progress, "cluster: a pod takes no connection:", err)
		return
	}
	defer to.Close() //nolint:errcheck // the other end knows
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.network.transmit(to, from, service, count)
		if t, ok := to.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	}()
	c.network.transmit(from, to, service, count)
	if t, ok := from.(*net.TCPConn); ok && c.network.silence(service).count == count {
		_ = t.CloseWrite()
	}
	<-done
}

// namesOf returns the names of a pod from a headless Service of its StatefulSet.
func namesOf(p *corev1.Pod) []string {
	owner := metav1.GetControllerOf(p)
	if owner == nil || owner.Kind != "StatefulSet" || p.Spec.Subdomain == "" {
		return nil
	}
	names := domains(p.Name+"."+p.Spec.Subdomain, p.Namespace)
	// Pods with a search domain of their own know each other by their host names.
	if p.Spec.DNSConfig != nil && len(p.Spec.DNSConfig.Searches) > 0 {
		names = append(names, p.Name)
	}
	return names
}
