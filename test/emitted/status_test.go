package emitted

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// statusChecker validates the status in every response of a function with the schema of its kind.
type statusChecker struct {
	function.Runner
	t     *testing.T
	calls *int
}

func (s statusChecker) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	rsp, plan, err := s.Runner.Explain(req)
	if err != nil {
		return rsp, plan, err
	}
	*s.calls++
	xr := req.Composite.AsMap()
	xr["status"] = rsp.Composite.Object.Map()["status"]
	apiVersion, _ := xr["apiVersion"].(string)
	kind, _ := xr["kind"].(string)
	v, err := definition.Validator(apiVersion, kind)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range v.ValidateStatus(xr) {
		s.t.Errorf("call %d, %s: %s", *s.calls, kind, e)
	}
	return rsp, plan, nil
}

// TestAPIServerAcceptsEveryStatus checks that the API server accepts every status that a function returns for its composite resource, from
// the first call to the last. A rejected status would stay unchanged forever.
func TestAPIServerAcceptsEveryStatus(t *testing.T) {
	for name, claim := range map[string][]byte{
		"smallest":    examples.Claim,
		"large":       document(t, "ControlPlaneCluster", "cloud", parse(t, specs["remote, delete"]), "2026.1"),
		"not exposed": document(t, "ControlPlaneCluster", "cloud", parse(t, specs["not exposed"]), "2025.1"),
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			runners := map[string]function.Runner{}
			for kind, r := range kinds.Runners() {
				runners[kind] = statusChecker{r, t, &calls}
			}
			if _, err := preview.Run(claim, document(t, "PlatformConfig", "default", parse(t, platforms["rich"]), ""), runners); err != nil {
				t.Fatal(err)
			}
			if calls < 10 {
				t.Errorf("only %d calls", calls)
			}
		})
	}
}
