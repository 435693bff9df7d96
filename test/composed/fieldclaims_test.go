package composed

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// specs holds the spec of a claim of each kind.
type specs map[string]map[string]any

// claimKinds lists the kinds of claims; a claim refers to claims of earlier kinds.
var claimKinds = []string{"StorageCluster", "ControlPlaneCluster", "HypervisorCluster"}

// claimNames holds the names of the claims of fieldClaims.
var claimNames = map[string]string{"StorageCluster": "storage", "ControlPlaneCluster": "cloud", "HypervisorCluster": "hypervisors"}

// fieldClaims is testdata/fields/claims.yaml: the claims whose fields are changed.
type fieldClaims struct {
	Platform map[string]any
	Claims   specs
	// Agents turns the claims into a cloud whose networks are made by agents.
	Agents specs
	// Second holds claims of another tenant, to which fields refer after a change.
	Second specs
	// Needs are patches of a claim that fields require.
	Needs []struct {
		Kind, Fields string
		Spec         map[string]any
	}
	// Values are new values of fields: Value, Object or Spec.
	Values []struct {
		Kind, Fields string
		Value        any
		// Object is a patch of the object that has the field.
		Object map[string]any
		// Spec is a patch of the claim.
		Spec map[string]any
	}
}

func readFieldClaims(t *testing.T) fieldClaims {
	t.Helper()
	data, err := os.ReadFile("testdata/fields/claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out fieldClaims
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		t.Fatalf("testdata/fields/claims.yaml: %v", err)
	}
	// A service without a section in the file has the section of its facts.
	sections, _ := out.Claims["ControlPlaneCluster"]["services"].(map[string]any)
	for service, facts := range expected.Services(t) {
		if _, found := sections[service]; !found && facts.Section != nil {
			sections[service] = facts.Section
		}
	}
	return out
}

// specsFor returns the claims of a cloud whose networks are made by OVN, or by agents, in a release.
func (c fieldClaims) specsFor(agents bool, r release.Release) specs {
	out := maps.Clone(c.Claims)
	if agents {
		for kind, patch := range c.Agents {
			out[kind] = merged(out[kind], patch)
		}
	}
	out["ControlPlaneCluster"] = merged(out["ControlPlaneCluster"], map[string]any{"openStackRelease": string(r)})
	return out
}

// applies reports whether patterns of fields of a kind, or of all kinds, include a field.
func applies(kind, fields, ofKind string, f claimField) bool {
	return (kind == "" || kind == ofKind) && specificity(strings.Fields(fields), f.path) > 0
}

// prepared returns the spec of a claim with all that a field requires.
func (c fieldClaims) prepared(kind string, spec map[string]any, f claimField) map[string]any {
	for _, n := range c.Needs {
		if applies(n.Kind, n.Fields, kind, f) {
			spec = merged(spec, n.Spec)
		}
	}
	return spec
}

// changed returns the spec of a claim in which a field has another value. The last entry of Values wins.
func (c fieldClaims) changed(kind string, spec map[string]any, f claimField) map[string]any {
	path, change := f.steps(), f.other
	for _, v := range c.Values {
		switch {
		case !applies(v.Kind, v.Fields, kind, f):
		case v.Spec != nil:
			path, change = nil, func(old any) any { return patched(old, v.Spec) }
		case v.Object != nil:
			path, change = f.steps()[:len(f.steps())-1], func(old any) any { return patched(old, v.Object) }
		default:
			path, change = f.steps(), func(any) any { return v.Value }
		}
	}
	out, _ := replaced(spec, path, change).(map[string]any)
	return out
}

func patched(old any, patch map[string]any) any {
	m, _ := old.(map[string]any)
	return merged(m, patch)
}

// other returns another value that the schema of the field allows: the other one of two, the next number, or another choice.
func (f claimField) other(old any) any {
	if old == nil && f.schema.Default != nil {
		_ = json.Unmarshal(f.schema.Default.Raw, &old)
	}
	switch f.schema.Type {
	case "boolean":
		return old != true
	case "integer":
		n, _ := old.(float64)
		if f.schema.Minimum != nil {
			n = max(n, *f.schema.Minimum)
		}
		return n + 1
	}
	for _, e := range f.schema.Enum {
		var choice any
		if err := json.Unmarshal(e.Raw, &choice); err == nil && choice != old {
			return choice
		}
	}
	return placeholder
}

// composeSpec composes a claim next to others.
func (c fieldClaims) composeSpec(
	t *testing.T, kind, namespace, name string, spec map[string]any, existing []*structpb.Struct,
) (*cloud, error) {
	t.Helper()
	platform, err := yaml.Marshal(c.Platform)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := yaml.Marshal(map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": kind, "spec": spec,
		"metadata": map[string]any{"namespace": namespace, "name": name},
	})
	if err != nil {
		t.Fatal(err)
	}
	return composeOn(platform, name, claim, existing)
}

// composeChain composes the claims of some kinds next to composed claims of earlier kinds and to the claims of another tenant.
func (c fieldClaims) composeChain(
	t *testing.T, s specs, earlier []*cloud, kinds []string, second []*structpb.Struct,
) ([]*cloud, error) {
	t.Helper()
	out, existing := slices.Clone(earlier), slices.Clone(second)
	for _, e := range earlier {
		existing = append(existing, e.result.Existing...)
	}
	for _, kind := range kinds {
		composed, err := c.composeSpec(t, kind, "tenant-a", claimNames[kind], s[kind], existing)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		out, existing = append(out, composed), append(existing, composed.result.Existing...)
	}
	return out, nil
}

// composeSecond composes the claims of another tenant.
func (c fieldClaims) composeSecond(t *testing.T) []*structpb.Struct {
	t.Helper()
	var out []*structpb.Struct
	for _, kind := range claimKinds {
		if c.Second[kind] == nil {
			continue
		}
		composed, err := c.composeSpec(t, kind, "tenant-b", "second", c.Second[kind], out)
		if err != nil {
			t.Fatalf("testdata/fields/claims.yaml: second %s: %v", kind, err)
		}
		out = append(out, composed.result.Existing...)
	}
	return out
}
