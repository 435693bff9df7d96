//go:build linux

package cluster

import (
	"io"
	"net"
	"testing"
)

// TestTransmit: a connection that was open while its server was silent transmits nothing, also afterwards. Other connections do.
func TestTransmit(t *testing.T) {
	n := newNetwork()
	receive := func(count int) bool {
		client, in := net.Pipe()
		out, server := net.Pipe()
		go func() {
			_, _ = client.Write([]byte("query"))
			_ = client.Close()
		}()
		go func() {
			n.transmit(out, in, "db", count)
			_ = out.Close()
		}()
		data, _ := io.ReadAll(server)
		return len(data) > 0
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
