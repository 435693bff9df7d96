package function

import (
	"context"
	"fmt"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// Server serves all kinds at one gRPC endpoint.
type Server struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
	// Kinds are the runners by kind of composite resource: "<kind>.<group>".
	Kinds map[string]Runner
	// Log receives every fatal response.
	Log logging.Logger
}

// RunFunction runs the runner of the composite resource's kind. Errors are part of the response. The call fails only if no response can
// be built; Crossplane then changes nothing either.
func (s *Server) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return wire.Handle(req, s.answer)
}

func (s *Server) answer(req *wire.Request) (_ *wire.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot answer: %v; this is a bug of the function", r)
			s.Log.Info(err.Error())
		}
	}()
	kind := compose.KindOf(req.Composite).GroupKind()
	k, ok := s.Kinds[kind.String()]
	if !ok {
		return respond.Fatal(req, fmt.Errorf("there is no function for composite resources of kind %s", kind)), nil
	}
	rsp := k.Run(req)
	for _, r := range rsp.Results {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			name := req.Composite.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
			s.Log.Info("cannot compose", "kind", kind.String(), "name", name, "message", r.GetMessage())
		}
	}
	return rsp, nil
}
