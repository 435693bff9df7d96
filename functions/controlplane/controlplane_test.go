package controlplane

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	identitycatalog "github.com/c5c3/crossplane-cobaltcore/functions/catalog"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
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
	instance = "tenant-a-cloud-aab838129d70f8f9a33a"
	// bare is a platform without defaults that allows everything.
	bare = "{domain: example.com, limits: [" + limittest.Everything + "]}"
)

// fields parses a YAML object.
func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// xr returns the composite resource of claim cloud in namespace tenant-a, with release 2025.2 unless the spec sets another.
func xr(t *testing.T, spec string) *structpb.Struct {
	t.Helper()
	s := fields(t, spec)
	if s["openStackRelease"] == nil {
		s["openStackRelease"] = "2025.2"
	}
	s["claimRef"] = map[string]any{"namespace": "tenant-a", "name": "cloud"}
	return structOf(t, map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "XControlPlaneCluster",
		"metadata": map[string]any{"name": "cloud-x7d2f"}, "spec": s,
	})
}

// required returns the required resources of the Composition: a PlatformConfig, and the admission policies of the chart.
func required(t *testing.T, platform string) map[string][]*structpb.Struct {
	t.Helper()
	out := admission.Requirements()
	out["platform"] = []*structpb.Struct{platformConfig(t, platform)}
	return out
}

func platformConfig(t *testing.T, spec string) *structpb.Struct {
	t.Helper()
	return structOf(t, map[string]any{"metadata": map[string]any{"name": "default"}, "spec": fields(t, spec)})
}

// input returns the input of derive with these observed resources.
func input(t *testing.T, spec, platform string, observed map[string]*structpb.Struct) function.Input[controlplanev1.ControlPlaneCluster] {
	t.Helper()
	objects := map[string]encoded.Struct{}
	for name, o := range observed {
		objects[name] = encoded.Of(o)
	}
	observedState, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	in := function.Input[controlplanev1.ControlPlaneCluster]{
		Claim: function.Claim{Namespace: "tenant-a", Name: "cloud"}, Observed: observedState,
		Required: required(t, platform),
	}
	if err := function.Decode(xr(t, spec), &in.XR); err != nil {
		t.Fatal(err)
	}
	return in
}

func derived(t *testing.T, spec, platform string) *model {
	t.Helper()
	m, err := derive(input(t, spec, platform, nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// requireFieldError fails unless err is a user error about the field that contains the message.
func requireFieldError(t *testing.T, reason string, err error, field, message string) {
	t.Helper()
	if err == nil || !invalid.Is(err) || !strings.HasPrefix(err.Error(), field+": ") || !strings.Contains(err.Error(), message) {
		t.Errorf("%s\nerror %v, want one about %s with %q", reason, err, field, message)
	}
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

// ready returns a control plane with all components ready.
func ready(t *testing.T, spec, platform string) *simulate.Cluster {
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

// at returns the value at a path of an object.
func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}
