//go:build openstack && linux

package nova

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestNovaConsoles checks that servers of both cells have a SPICE screen and a serial console if the claim enables
// them, and that deleted servers are removed from the databases.
func TestNovaConsoles(t *testing.T) {
	for _, r := range []release.Release{"2025.2", harness.Newest} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := startAs(t, harness.Claim(t, "consoles.yaml", r, "-c"+harness.Suffix(r)), r, "-c"+harness.Suffix(r), novav1.Consoles{Graphical: novav1.SPICE, Serial: true}, "")
			for _, h := range n.Hypervisors {
				t.Run(h.cell, func(t *testing.T) { testConsoles(t, n, h) })
			}
			t.Run("Archive", func(t *testing.T) { testArchive(t, n) })
		})
	}
}

// testConsoles checks that a server's console addresses lead to its hypervisor, only with their tokens, and that only
// the consoles of the claim exist.
func testConsoles(t *testing.T, n Nova, h Hypervisor) {
	ctx := context.Background()
	id, err := n.CreateServer(ctx, h, "consoles-"+h.cell)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WaitForServer(ctx, id); err != nil {
		t.Fatal(err)
	}
	t.Run("SPICE", func(t *testing.T) { testSPICE(t, n, h, id) })
	t.Run("Serial", func(t *testing.T) { testSerial(t, n, h, id) })
	_, err = n.ConsoleURL(id, remoteconsoles.ConsoleProtocolVNC, remoteconsoles.ConsoleTypeNoVNC)
	if !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
		t.Errorf("a screen by VNC, which the claim has not: got %v, want 400", err)
	}
	if err := n.DeleteServer(ctx, id); err != nil {
		t.Error(err)
	}
}

// testSPICE checks that the page exists, stores its token in a cookie, and connects to the path websockify.
// https://gitlab.freedesktop.org/spice/spice-html5/-/blob/master/spice_auto.html
func testSPICE(t *testing.T, n Nova, h Hypervisor, id string) {
	page, err := n.ConsoleURL(id, remoteconsoles.ConsoleProtocolSPICE, remoteconsoles.ConsoleTypeSPICEHTML5)
	if err != nil {
		t.Fatal(err)
	}
	response, err := harness.KeystoneClient(t, n.Cloud, true).HTTP.Get(page.String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("websockify")) {
		t.Errorf("the page of the console: %s:\n%.300s", response.Status, body)
	}
	if got, err := n.console(page.Host, "websockify", "token="+page.Query().Get("token"), linkSPICE); err != nil || got != h.cell {
		t.Errorf("the screen shows %q, %v; want %q", got, err, h.cell)
	}
	if got, err := n.console(page.Host, "websockify", "token="+guessed, linkSPICE); !closed(err) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", got, err)
	}
}

// testSerial checks that the address is a websocket, for any client.
func testSerial(t *testing.T, n Nova, h Hypervisor, id string) {
	at, err := n.ConsoleURL(id, remoteconsoles.ConsoleProtocolSerial, remoteconsoles.ConsoleTypeSerial)
	if err != nil {
		t.Fatal(err)
	}
	if at.Scheme != "wss" {
		t.Errorf("the address of the serial console is %s, want wss", at)
	}
	if got, err := n.console(at.Host, "?token="+at.Query().Get("token"), "", LogIn); err != nil || got != h.cell {
		t.Errorf("the serial console shows %q, %v; want %q", got, err, h.cell)
	}
	if got, err := n.console(at.Host, "?token="+guessed, "", LogIn); !closed(err) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", got, err)
	}
}

// closed reports whether the other side has closed a connection, with or without unread data.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// linkSPICE performs the client's side of a link, and returns the name of the screen.
func linkSPICE(conn io.ReadWriter) (name string, err error) {
	if _, err := conn.Write(spiceMessage(make([]byte, spiceMess))); err != nil {
		return "", err
	}
	reply, err := hearSPICE(conn, spiceReply)
	if err != nil {
		return "", err
	}
	if code := binary.LittleEndian.Uint32(reply); code != 0 {
		return "", fmt.Errorf("the screen responds with error %d", code)
	}
	return strings.TrimRight(string(reply[spiceError:spiceError+spiceKey]), "\x00"), nil
}
