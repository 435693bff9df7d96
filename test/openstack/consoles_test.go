//go:build openstack && linux

package openstack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestNovaConsoles checks that servers of both cells have a SPICE screen and a serial console if the claim enables
// them, and that deleted servers are removed from the databases.
func TestNovaConsoles(t *testing.T) {
	for _, r := range []release.Release{"2025.2", newest} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := startNovaAs(t, of(t, "consoles.yaml", r, "-c"+dashed(r)), r, "-c"+dashed(r), novav1.Consoles{Graphical: novav1.SPICE, Serial: true}, "")
			for _, h := range n.hypervisors {
				t.Run(h.cell, func(t *testing.T) { testConsoles(t, n, h) })
			}
			t.Run("Archive", func(t *testing.T) { testArchive(t, n) })
		})
	}
}

// testConsoles checks that a server's console addresses lead to its hypervisor, only with their tokens, and that only
// the consoles of the claim exist.
func testConsoles(t *testing.T, n nova, h hypervisor) {
	ctx := context.Background()
	id, err := n.create(ctx, h, "consoles-"+h.cell)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.active(ctx, id); err != nil {
		t.Fatal(err)
	}
	t.Run("SPICE", func(t *testing.T) { testSPICE(t, n, h, id) })
	t.Run("Serial", func(t *testing.T) { testSerial(t, n, h, id) })
	_, err = n.consoleURL(id, remoteconsoles.ConsoleProtocolVNC, remoteconsoles.ConsoleTypeNoVNC)
	if !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
		t.Errorf("a screen by VNC, which the claim has not: got %v, want 400", err)
	}
	if err := n.delete(ctx, id); err != nil {
		t.Error(err)
	}
}

// consoleURL returns the address of a console for browsers.
func (n nova) consoleURL(id string, protocol remoteconsoles.ConsoleProtocol, kind remoteconsoles.ConsoleType) (*url.URL, error) {
	console, err := remoteconsoles.Create(context.Background(), n.ServiceClient, id, remoteconsoles.CreateOpts{
		Protocol: protocol, Type: kind,
	}).Extract()
	if err != nil {
		return nil, err
	}
	return url.Parse(console.URL)
}

// testSPICE checks that the page exists, stores its token in a cookie, and connects to the path websockify.
// https://gitlab.freedesktop.org/spice/spice-html5/-/blob/master/spice_auto.html
func testSPICE(t *testing.T, n nova, h hypervisor, id string) {
	page, err := n.consoleURL(id, remoteconsoles.ConsoleProtocolSPICE, remoteconsoles.ConsoleTypeSPICEHTML5)
	if err != nil {
		t.Fatal(err)
	}
	response, err := clientOf(t, n.cloud, true).HTTP.Get(page.String())
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
func testSerial(t *testing.T, n nova, h hypervisor, id string) {
	at, err := n.consoleURL(id, remoteconsoles.ConsoleProtocolSerial, remoteconsoles.ConsoleTypeSerial)
	if err != nil {
		t.Fatal(err)
	}
	if at.Scheme != "wss" {
		t.Errorf("the address of the serial console is %s, want wss", at)
	}
	if got, err := n.console(at.Host, "?token="+at.Query().Get("token"), "", logIn); err != nil || got != h.cell {
		t.Errorf("the serial console shows %q, %v; want %q", got, err, h.cell)
	}
	if got, err := n.console(at.Host, "?token="+guessed, "", logIn); !closed(err) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", got, err)
	}
}

// closed reports whether the other side has closed a connection, with or without unread data.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// The link of a SPICE client, as far as it identifies the server (https://www.spice-space.org/spice-protocol.html):
// both sides send a header and a message. The fake server sends its name instead of a public key.
const (
	spiceMagic  = "REDQ"
	spiceMajor  = 2
	spiceMinor  = 2
	spiceHeader = 16
	// The message of a client: its connection, its channel, and no capabilities.
	spiceMess = 18
	// The reply of a server: an error, its key, and no capabilities.
	spiceError = 4
	spiceKey   = 162
	spiceReply = spiceError + spiceKey + 12
)

// spiceMessage returns a message with its header.
func spiceMessage(body []byte) []byte {
	out := []byte(spiceMagic)
	for _, n := range []int{spiceMajor, spiceMinor, len(body)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	return append(out, body...)
}

// hearSPICE reads a message of a length.
func hearSPICE(from io.Reader, length int) ([]byte, error) {
	message := make([]byte, spiceHeader+length)
	if _, err := io.ReadFull(from, message); err != nil {
		return nil, err
	}
	if want := spiceMessage(message[spiceHeader:]); !bytes.Equal(want, message) {
		return nil, fmt.Errorf("the header is %v, want %v", message[:spiceHeader], want[:spiceHeader])
	}
	return message[spiceHeader:], nil
}

// showSPICE performs the server's side of a link.
func showSPICE(conn net.Conn, name string) error {
	defer conn.Close()
	if _, err := hearSPICE(conn, spiceMess); err != nil {
		return err
	}
	reply := make([]byte, spiceReply)
	copy(reply[spiceError:], name)
	_, err := conn.Write(spiceMessage(reply))
	return err
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

const prompt = " login: "

// echo acts as a terminal without a shell.
func echo(conn net.Conn, name string) error {
	defer conn.Close()
	if _, err := io.WriteString(conn, name+prompt); err != nil {
		return err
	}
	_, err := io.Copy(conn, conn)
	return err
}

// logIn waits for the prompt, types a name, and reads its echo. It returns the name of the terminal.
func logIn(conn io.ReadWriter) (name string, err error) {
	const user = "root\r"
	var received []byte
	for one := make([]byte, 1); !bytes.HasSuffix(received, []byte(prompt)); received = append(received, one...) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, user); err != nil {
		return "", err
	}
	typed := make([]byte, len(user))
	if _, err := io.ReadFull(conn, typed); err != nil {
		return "", err
	}
	if string(typed) != user {
		return "", fmt.Errorf("typed %q, and see %q", user, typed)
	}
	return strings.TrimSuffix(string(received), prompt), nil
}
