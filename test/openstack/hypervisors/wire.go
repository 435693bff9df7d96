//go:build openstack && linux

package hypervisors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A wire captures the network of all nodes: the first bytes of every connection to libvirt and between QEMUs, and a
// word that must be encrypted.
type wire struct {
	socket int
	secret []byte
	ended  sync.WaitGroup
	stop   chan struct{}

	mu sync.Mutex
	// starts are the first bytes of each direction of a connection, and bytes the transferred bytes, by the port of the
	// server: 0 is QEMU's.
	starts map[string][]byte
	bytes  map[int]int
	read   bool // the secret
}

// Ports of libvirt, and the ports that it assigns to QEMU for migrations (qemu.conf: migration_port_min,
// migration_port_max).
const (
	libvirtPort                 = 16514
	firstOfQEMU, lastOfQEMU int = 49152, 49215
)

// Tap starts to capture the network.
func Tap(t *testing.T, secret string) *wire {
	t.Helper()
	all := int(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL)))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		t.Fatal(err)
	}
	const bufferBytes = 64 << 20
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferBytes)
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		t.Fatal(err)
	}
	w := &wire{socket: socket, secret: []byte(secret), stop: make(chan struct{}), starts: map[string][]byte{}, bytes: map[int]int{}}
	w.ended.Go(w.listen)
	return w
}

func (w *wire) listen() {
	packet := make([]byte, 1<<16)
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		n, from, err := unix.Recvfrom(w.socket, packet, 0)
		// Packets between nodes enter at one interface of this machine, and leave at another.
		if link, ok := from.(*unix.SockaddrLinklayer); err == nil && ok && link.Pkttype != unix.PACKET_OUTGOING {
			w.see(packet[:n])
		}
	}
}

// see records a packet of Ethernet, IPv4 and TCP.
func (w *wire) see(packet []byte) {
	const ethernet, tcp, least = 14, 6, 20
	if len(packet) < ethernet+2*least || binary.BigEndian.Uint16(packet[12:]) != unix.ETH_P_IP || packet[ethernet+9] != tcp {
		return
	}
	ip := packet[ethernet:]
	ip = ip[:min(int(binary.BigEndian.Uint16(ip[2:])), len(ip))]
	segment := ip[int(ip[0]&0xf)*4:]
	if len(segment) < least || int(segment[12]>>4)*4 > len(segment) {
		return
	}
	from, to := int(binary.BigEndian.Uint16(segment)), int(binary.BigEndian.Uint16(segment[2:]))
	port, ok := server(from, to)
	content := segment[int(segment[12]>>4)*4:]
	if !ok || len(content) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	const headerBytes = 8
	key := fmt.Sprintf("%v:%d-%v:%d", ip[12:16], from, ip[16:20], to)
	if have := w.starts[key]; len(have) < headerBytes {
		w.starts[key] = append(have, content[:min(len(content), headerBytes-len(have))]...)
	}
	w.bytes[port] += len(content)
	w.read = w.read || bytes.Contains(content, w.secret)
}

// server returns the port of a captured server. Clients of others may have one of QEMU's ports: their servers' ports
// are below those of clients (net.ipv4.ip_local_port_range).
func server(from, to int) (port int, ok bool) {
	const firstOfClients = 32768
	ofQEMU := func(p int) bool { return firstOfQEMU <= p && p <= lastOfQEMU }
	switch {
	case from == libvirtPort || to == libvirtPort:
		return libvirtPort, true
	case min(from, to) >= firstOfClients && (ofQEMU(from) || ofQEMU(to)):
		return 0, true
	}
	return 0, false
}

// Stop logs the captured data, and fails unless all of it was TLS: each direction starts with a handshake record, except
// of a server of block devices, which first sends its greeting and requests TLS
// (https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md).
func (w *wire) Stop(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second) // for data that is still in the socket
	close(w.stop)
	w.ended.Wait()
	_ = unix.Close(w.socket)
	kinds := map[string]int{}
	for key, began := range w.starts {
		switch {
		case bytes.HasPrefix(began, []byte{0x16, 3}):
			kinds["TLS"]++
		case string(began) == "NBDMAGIC":
			kinds["NBD server, before TLS"]++
		case bytes.HasPrefix(began, []byte{0, 0, 0, 3}) || bytes.HasPrefix(began, []byte{0, 0, 0, 1}):
			kinds["NBD client, before TLS"]++
		default:
			t.Errorf("%s begins with %q, which is no TLS", key, began)
		}
	}
	if w.read || w.bytes[0] == 0 || w.bytes[libvirtPort] == 0 {
		t.Errorf("the secret was read: %t; bytes by port (0: QEMU's): %v", w.read, w.bytes)
	}
	var ports []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		ports = append(ports, fmt.Sprintf("%d × %s", kinds[k], k))
	}
	t.Logf("on the wire: %s; %.1f MiB between QEMUs, %.1f KiB to libvirt", strings.Join(ports, ", "), float64(w.bytes[0])/(1<<20),
		float64(w.bytes[libvirtPort])/(1<<10))
}
