// Package controlplanetest builds claims and platforms for tests of the packages of a control plane.
package controlplanetest

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	// Instance is the instance of claim cloud in namespace tenant-a.
	Instance = "tenant-a-cloud-aab838129d70f8f9a33a"
	// Platform is a platform without defaults that allows everything.
	Platform = "{domain: example.com, limits: [" + limittest.Everything + "]}"
)

// Fields parses a YAML object.
func Fields(t testing.TB, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// Struct converts an object.
func Struct(t testing.TB, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// XR returns the composite resource of claim cloud in namespace tenant-a, with release 2025.2 unless the spec sets another.
func XR(t testing.TB, spec string) *structpb.Struct {
	t.Helper()
	s := Fields(t, spec)
	if s["openStackRelease"] == nil {
		s["openStackRelease"] = "2025.2"
	}
	s["claimRef"] = map[string]any{"namespace": "tenant-a", "name": "cloud"}
	return Struct(t, map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "XControlPlaneCluster",
		"metadata": map[string]any{"name": "cloud-x7d2f"}, "spec": s,
	})
}

// Required returns the required resources of the Composition: a PlatformConfig, and the admission policies of the chart.
func Required(t testing.TB, platform string) map[string][]*structpb.Struct {
	t.Helper()
	out := admission.Requirements()
	out["platform"] = []*structpb.Struct{Struct(t, map[string]any{
		"metadata": map[string]any{"name": "default"}, "spec": Fields(t, platform),
	})}
	return out
}

// Input returns the input for the claim with these observed resources.
func Input(
	t testing.TB, spec, platform string, observed map[string]*structpb.Struct,
) function.Input[controlplanev1.ControlPlaneCluster] {
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
		Required: Required(t, platform),
	}
	if err := function.Decode(XR(t, spec), &in.XR); err != nil {
		t.Fatal(err)
	}
	function.SetDefaults(&in.XR)
	return in
}

// Observed returns an observed resource with a spec, nil if the spec is empty.
func Observed(t testing.TB, name, spec string) map[string]*structpb.Struct {
	t.Helper()
	if spec == "" {
		return nil
	}
	return map[string]*structpb.Struct{
		name: Struct(t, Fields(t, "{apiVersion: a/v1, kind: A, metadata: {name: a}, spec: "+spec+"}")),
	}
}

// Unlimited adds a limit that allows everything to a platform of domain a.b.
func Unlimited(platform string) string {
	return strings.Replace(platform, "{domain: a.b", "{domain: a.b, limits: ["+limittest.Everything+"]", 1)
}

// RequireFieldError fails unless err is a user error about the field that contains the message.
func RequireFieldError(t testing.TB, reason string, err error, field, message string) {
	t.Helper()
	if err == nil || !invalid.Is(err) || !strings.HasPrefix(err.Error(), field+": ") || !strings.Contains(err.Error(), message) {
		t.Errorf("%s\nerror %v, want one about %s with %q", reason, err, field, message)
	}
}

// At returns the value at a path of an object.
func At(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// Map converts a typed object.
func Map(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, json.Unmarshal(data, &out)
}
