package platform

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

// FunctionRecorder records the requests and responses of functions: it is a proxy in front of each of them, with its
// certificate and Crossplane's, and forwards every message unchanged. The functions are not aware of it.
type FunctionRecorder struct {
	// asFunction and asCrossplane are the folders of the certificates.
	asFunction, asCrossplane string

	mu        sync.Mutex
	servers   []*grpc.Server
	listening []func(request, response []byte)
}

// Listen passes every later call to a function, one after the other, in the form in which it is sent.
func (t *FunctionRecorder) Listen(to func(request, response []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listening = append(t.listening, to)
}

// before starts a recorder in front of the function at an address, and returns its own address.
func (t *FunctionRecorder) before(function string) (string, error) {
	server, err := certificateOf(t.asFunction)
	if err != nil {
		return "", err
	}
	server.ClientAuth = tls.RequireAndVerifyClientCert
	client, err := certificateOf(t.asCrossplane)
	if err != nil {
		return "", err
	}
	const large = 256 << 20
	upstream, err := grpc.NewClient("dns:///"+function, grpc.WithTransportCredentials(credentials.NewTLS(client)),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.WaitForReady(true),
			grpc.MaxCallRecvMsgSize(large), grpc.MaxCallSendMsgSize(large)))
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", kubernetes.Address(0)) //nolint:noctx // It ends with the server.
	if err != nil {
		return "", errors.Join(err, upstream.Close())
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(server)), grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(large),
		grpc.MaxSendMsgSize(large), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return t.pass(stream, upstream) }))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.servers = append(t.servers, s)
	go func() { _ = s.Serve(listener) }() // It ends with the platform.
	return listener.Addr().String(), nil
}

// pass forwards one call.
func (t *FunctionRecorder) pass(stream grpc.ServerStream, upstream *grpc.ClientConn) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request, response []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if err := upstream.Invoke(stream.Context(), method, &request, &response); err != nil {
		return err
	}
	t.hear(request, response)
	return stream.SendMsg(&response)
}

func (t *FunctionRecorder) hear(request, response []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, to := range t.listening {
		to(request, response)
	}
}

// stop stops the recorder.
func (t *FunctionRecorder) stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.servers {
		s.Stop()
	}
}

// certificateOf reads a certificate, and the CA that verifies the other side.
func certificateOf(dir string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("there is no certificate in %s", dir)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// rawCodec is a codec for messages that are already bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*b = bytes.Clone(data.Materialize())
	return nil
}
