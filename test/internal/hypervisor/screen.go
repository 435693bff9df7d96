package hypervisor

import (
	"fmt"
	"io"
	"net"
)

// The screen of a server, as far as it is displayed: RFB 3.8 without a password
// (https://datatracker.ietf.org/doc/html/rfc6143).
const (
	rfbVersion   = "RFB 003.008\n"
	rfbNone      = 1 // the security type
	rfbTypes     = 2 // bytes of the list of security types: how many there are, and the one
	rfbResult    = 4
	rfbInit      = 20
	rfbNameBytes = 4
)

// Screens shows a name to each client, on a black screen, until the listener is closed.
func Screens(l net.Listener, name string) {
	Serve(l, func(conn net.Conn) error { return Show(conn, name) })
}

// Serve calls a function for each client until the listener is closed.
func Serve(l net.Listener, serve func(net.Conn) error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() { _ = serve(conn) }() // the client has already read the error
	}
}

// Show performs the server's side of a handshake, with a black screen of a name.
func Show(conn net.Conn, name string) error {
	defer conn.Close() //nolint:errcheck // the other end knows
	init := append(make([]byte, rfbInit+rfbNameBytes), name...)
	init[rfbInit+rfbNameBytes-1] = byte(len(name)) //nolint:gosec // a short name
	for _, step := range []struct {
		send []byte
		hear int
	}{
		{[]byte(rfbVersion), len(rfbVersion)}, {[]byte{1, rfbNone}, 1}, {make([]byte, rfbResult), 1}, {init, 1},
	} {
		if _, err := conn.Write(step.send); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, make([]byte, step.hear)); err != nil {
			return err
		}
	}
	return nil
}

// Look performs the client's side of a handshake, and returns the name of the screen.
func Look(conn io.ReadWriter) (name string, err error) {
	version, types, result := make([]byte, len(rfbVersion)), make([]byte, rfbTypes), make([]byte, rfbResult)
	init := make([]byte, rfbInit+rfbNameBytes)
	for _, step := range []struct {
		hear, send []byte
	}{
		{version, []byte(rfbVersion)}, {types, []byte{rfbNone}}, {result, []byte{1}}, {init, nil},
	} {
		if _, err := io.ReadFull(conn, step.hear); err != nil {
			return "", err
		}
		if len(step.send) == 0 {
			continue
		}
		if _, err := conn.Write(step.send); err != nil {
			return "", err
		}
	}
	if string(version) != rfbVersion || types[0] != 1 || types[1] != rfbNone {
		return "", fmt.Errorf("the screen is of version %q, with the security types %v", version, types)
	}
	text := make([]byte, init[len(init)-1])
	_, err = io.ReadFull(conn, text)
	return string(text), err
}
