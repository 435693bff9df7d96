//go:build openstack && linux

package nova

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"
)

// ConsoleURL returns the address of a console for browsers.
func (n Nova) ConsoleURL(id string, protocol remoteconsoles.ConsoleProtocol, kind remoteconsoles.ConsoleType) (*url.URL, error) {
	console, err := remoteconsoles.Create(context.Background(), n.ServiceClient, id, remoteconsoles.CreateOpts{
		Protocol: protocol, Type: kind,
	}).Extract()
	if err != nil {
		return nil, err
	}
	return url.Parse(console.URL)
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

// LogIn waits for the prompt, types a name, and reads its echo. It returns the name of the terminal.
func LogIn(conn io.ReadWriter) (name string, err error) {
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
