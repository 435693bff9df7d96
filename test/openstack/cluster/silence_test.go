//go:build openstack && linux

package cluster

import (
	"net"
	"testing"
	"time"
)

// TestTransmit: a connection that was open while its server was silent transmits nothing, also afterwards. Other connections do.
func TestTransmit(t *testing.T) {
	n := newNetwork()
	receive := func(count int) bool {
		t.Helper()
		client, in := net.Pipe()
		out, server := net.Pipe()
		go n.transmit(out, in, "db", count)
		go func() { _, _ = client.Write([]byte("query")) }()
		if err := server.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err := server.Read(make([]byte, 5))
		_ = client.Close()
		return err == nil
	}
	if !receive(0) {
		t.Error("a server that was never silent receives nothing")
	}
	n.silences["db"] = silence{active: true, count: 1}
	if receive(0) {
		t.Error("a silent server receives data")
	}
	n.silences["db"] = silence{count: 1}
	if receive(0) {
		t.Error("a connection that lived through the silence is served")
	}
	if !receive(1) {
		t.Error("a new connection is not served")
	}
}
