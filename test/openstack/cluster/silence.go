//go:build linux

package cluster

import (
	"fmt"
	"io"
	"net"
)

// silence is the state of a Service whose server accepts connections and does not respond.
type silence struct {
	active bool
	// count is the number of times that it became silent. A connection that lived through one of them stays silent.
	count int
}

// Silence makes the server behind a Service silent, or ends that. A silent server accepts connections, reads, and does not respond, and no
// connection is closed. A connection that was open while the server was silent is silent forever, as after a lost network: only the limits
// of its client end it.
func (c *Cluster) Silence(namespace, service string, active bool) error {
	name := domains(service, namespace)[0]
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if _, served := c.network.selectors[name]; !served {
		return fmt.Errorf("the Service %s is not served", service)
	}
	s := c.network.silences[name]
	if active && !s.active {
		s.count++
	}
	s.active = active
	c.network.silences[name] = s
	return nil
}

// silence returns the state of a Service.
func (n *network) silence(service string) silence {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silences[service]
}

// transmit copies data until its source ends. Data of a connection that has become silent is discarded.
func (n *network) transmit(to, from net.Conn, service string, count int) {
	_, _ = io.Copy(unlessUnresponsive{to, func() bool { return n.silence(service).count != count }}, from)
}

// discard reads a connection until its client closes it.
func discard(conn net.Conn) {
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// unlessUnresponsive discards what is written while the server is silent.
type unlessUnresponsive struct {
	io.Writer

	unresponsive func() bool
}

func (u unlessUnresponsive) Write(data []byte) (int, error) {
	if u.unresponsive() {
		return len(data), nil
	}
	return u.Writer.Write(data)
}
