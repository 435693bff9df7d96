package controlplane

import (
	"slices"
	"testing"

	identitycatalog "github.com/c5c3/crossplane-cobaltcore/functions/catalog"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/controlplanetest"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	// kind is the runner name of the composite resource of a control plane, nested is the name for the Keystone that it composes.
	kind   = "XControlPlaneCluster.crossplane.c5c3.io"
	nested = "Keystone.keystone.openstack.c5c3.io"
	// entries is the runner name of the catalog.
	entries = "IdentityCatalog.keystone.openstack.c5c3.io"
	// instance is the instance of claim cloud in namespace tenant-a.
	instance = controlplanetest.Instance
	// bare is a platform without defaults that allows everything.
	bare = controlplanetest.Platform
)

// Short names of the test kit.
var (
	fields            = controlplanetest.Fields
	structOf          = controlplanetest.Struct
	xr                = controlplanetest.XR
	required          = controlplanetest.Required
	input             = controlplanetest.Input
	observedAs        = controlplanetest.Observed
	open              = controlplanetest.Unlimited
	requireFieldError = controlplanetest.RequireFieldError
	at                = controlplanetest.At
	toMap             = controlplanetest.Map
)

func derived(t *testing.T, spec, platform string) *model {
	t.Helper()
	m, err := derive(input(t, spec, platform, nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stub is a Keystone that is ready at once and reports its release and version.
type stub struct{ release, version string }

func (s stub) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	return s.Run(req), compose.Plan{}, nil
}

func (s stub) Run(req *wire.Request) *wire.Response {
	o := encoded.Of(req.Composite).With(encoded.Text(s.release), "status", "release").With(encoded.Text(s.version), "status", "version")
	return &wire.Response{Composite: &wire.Resource{Object: o, Ready: true}}
}

// readyCluster returns a control plane with all components ready.
func readyCluster(t *testing.T, spec, platform string) *simulate.Cluster {
	t.Helper()
	w := newCluster(t, spec, platform)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

func newCluster(t *testing.T, spec, platform string) *simulate.Cluster {
	t.Helper()
	return &simulate.Cluster{
		XR: xr(t, spec), Kinds: map[string]function.Runner{kind: New(), nested: stub{"2025.2", "28.1.0"}, entries: identitycatalog.New()},
		Required: required(t, platform),
	}
}

// desired returns the composed resources of the next reconciliation.
func desired(t *testing.T, w *simulate.Cluster) map[string]encoded.Struct {
	t.Helper()
	rsp, _, err := w.Kinds[kind].Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]encoded.Struct{}
	for name, r := range rsp.Composed {
		out[name] = r.Object
	}
	return out
}

// inner returns an object, without its wrapper if it is composed inside an Object.
func inner(o encoded.Struct) map[string]any {
	if i, ok := wrapper.Desired(o); ok {
		return i.Map()
	}
	return o.Map()
}

// composed returns the composed resources of a component by name.
func composed(t *testing.T, m *model, build func(*model) ([]compose.Stage, error)) map[string]compose.Resource {
	t.Helper()
	stages, err := build(m)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]compose.Resource{}
	for _, r := range slices.Concat(stages...) {
		out[r.Name] = r
	}
	return out
}

// stateOf returns the derived state of a service.
func stateOf(t *testing.T, m *model, name string) *services.State {
	t.Helper()
	s := m.stateOf(name)
	if s == nil {
		t.Fatalf("service %s is disabled", name)
	}
	return s
}

// verdict returns a condition of the claim.
func verdict(t *testing.T, m *model, condition string) rules.Result {
	t.Helper()
	for _, c := range advisoryConditions() {
		if c.Type == condition {
			return c.Verdict(m)
		}
	}
	t.Fatalf("there is no condition %s", condition)
	return rules.Result{}
}

// object returns a composed object.
func object(t *testing.T, r compose.Resource) map[string]any {
	t.Helper()
	out, err := toMap(r.Object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
