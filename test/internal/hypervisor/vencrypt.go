package hypervisor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Parts of VeNCrypt: the security type, and the subtype with certificates and without a password
// (https://github.com/rfbproto/rfbproto/blob/master/rfbproto.rst#vencrypt).
const (
	rfbVeNCrypt      = 19
	veNCryptX509None = 260
)

// LookTLS performs the client's side of a handshake with VeNCrypt, as a console proxy does, and returns the connection and the name of the
// screen. It fails for a server that accepts clients without TLS.
func LookTLS(ctx context.Context, conn net.Conn, config *tls.Config) (secure *tls.Conn, name string, err error) {
	subtype := binary.BigEndian.AppendUint32(nil, veNCryptX509None)
	for _, step := range []struct{ hear, send []byte }{
		{[]byte(rfbVersion), []byte(rfbVersion)},
		{[]byte{1, rfbVeNCrypt}, []byte{rfbVeNCrypt}},
		{[]byte{0, 2}, []byte{0, 2}}, // the version of VeNCrypt
		{append([]byte{0, 1}, subtype...), subtype},
		{[]byte{1}, nil},
	} {
		got := make([]byte, len(step.hear))
		if _, err := io.ReadFull(conn, got); err != nil {
			return nil, "", err
		}
		if !bytes.Equal(got, step.hear) {
			return nil, "", fmt.Errorf("the server sent %v, want %v", got, step.hear)
		}
		if _, err := conn.Write(step.send); err != nil {
			return nil, "", err
		}
	}
	secure = tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, "", err
	}
	result := make([]byte, rfbResult) // A rejected client gets none.
	if _, err := io.ReadFull(secure, result); err != nil {
		return nil, "", err
	}
	if _, err := secure.Write([]byte{1}); err != nil {
		return nil, "", err
	}
	init := make([]byte, rfbInit+rfbNameBytes)
	if _, err := io.ReadFull(secure, init); err != nil {
		return nil, "", err
	}
	text := make([]byte, init[len(init)-1])
	_, err = io.ReadFull(secure, text)
	return secure, string(text), err
}
