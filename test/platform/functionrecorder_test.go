package platform

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// echo is a function that responds with the tag of the request, or with an error.
type echo struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (echo) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if req.GetMeta().GetTag() == "" {
		return nil, status.Error(codes.InvalidArgument, "there is no tag")
	}
	return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: "answer to " + req.GetMeta().GetTag()}}, nil
}

// TestTap checks that requests and responses are forwarded unchanged, however large, that the listener gets both, and
// that errors are the function's. Clients without a certificate are rejected.
func TestTap(t *testing.T) {
	authority, err := pki.New("test")
	if err != nil {
		t.Fatal(err)
	}
	tap := &FunctionRecorder{asFunction: t.TempDir(), asCrossplane: t.TempDir()}
	for _, dir := range []string{tap.asFunction, tap.asCrossplane} {
		pair, err := authority.Issue(pki.Subject{User: "test", Hosts: []string{kubernetes.Loopback}})
		if err != nil {
			t.Fatal(err)
		}
		if err := authority.Write(dir, pair); err != nil {
			t.Fatal(err)
		}
	}
	config, err := certificateOf(tap.asFunction)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", kubernetes.Address(0))
	if err != nil {
		t.Fatal(err)
	}
	function := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)), grpc.MaxRecvMsgSize(64<<20))
	fnv1.RegisterFunctionRunnerServiceServer(function, echo{})
	go func() { _ = function.Serve(listener) }()
	defer function.Stop()
	at, err := tap.before(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tap.stop()

	var recorded [][]byte
	tap.Listen(func(request, response []byte) { recorded = append(recorded, request, response) })
	client, err := certificateOf(tap.asCrossplane)
	if err != nil {
		t.Fatal(err)
	}
	call := func(with credentials.TransportCredentials, tag string) (*fnv1.RunFunctionResponse, error) {
		c, err := grpc.NewClient("dns:///"+at, grpc.WithTransportCredentials(with))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		return fnv1.NewFunctionRunnerServiceClient(c).RunFunction(t.Context(), &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: tag}})
	}
	large := strings.Repeat("x", 1<<20)
	for _, tag := range []string{"one", large} {
		rsp, err := call(credentials.NewTLS(client), tag)
		if err != nil || rsp.GetMeta().GetTag() != "answer to "+tag {
			t.Fatalf("the answer is %.40v, %v", rsp, err)
		}
	}
	if len(recorded) != 4 || !bytes.Contains(recorded[0], []byte("one")) || !bytes.Contains(recorded[1], []byte("answer to one")) ||
		!bytes.Contains(recorded[2], []byte(large)) || !bytes.Contains(recorded[3], []byte(large)) {
		t.Errorf("%d messages were recorded: %.60q", len(recorded), recorded)
	}
	if _, err := call(credentials.NewTLS(client), ""); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the function's error is %v", err)
	}
	if _, err := call(insecure.NewCredentials(), "one"); status.Code(err) != codes.Unavailable || len(recorded) != 4 {
		t.Errorf("without a certificate it returns %v, and %d messages were recorded", err, len(recorded))
	}
}
