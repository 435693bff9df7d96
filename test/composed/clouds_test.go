package composed

import (
	"fmt"
	"maps"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// object is a composed object without the Object of provider-kubernetes around it.
type object struct {
	preview.Object
	// manifest is the object itself.
	manifest map[string]any
}

func (o object) String() string { return fmt.Sprintf("%s %s of %s", o.Kind, o.Name, o.Owner) }

// at returns the value at a path of the manifest, nil if there is none.
func (o object) at(path ...string) any { return at(o.manifest, path...) }

func (o object) text(path ...string) string {
	s, _ := o.at(path...).(string)
	return s
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// cloud is a claim with the objects composed for it.
type cloud struct {
	name string
	// claim is the document with the edits applied.
	claim   []byte
	objects []object
	result  *preview.Result
}

// references maps an example to the examples of the claims that it refers to.
var references = map[string][]string{
	"storage/control-plane.yaml":         {"storage/claim.yaml"},
	"storage/hypervisors.yaml":           {"storage/claim.yaml", "storage/control-plane.yaml"},
	"storage/objects.yaml":               {"storage/objects-control-plane.yaml"},
	"complete/control-plane.yaml":        {"complete/storage.yaml"},
	"complete/hypervisors.yaml":          {"complete/storage.yaml", "complete/control-plane.yaml"},
	"hypervisor/claim.yaml":              {"hypervisor/control-plane.yaml"},
	"hypervisor/agents.yaml":             {"hypervisor/agents-control-plane.yaml"},
	"hypervisor/sriov.yaml":              {"hypervisor/sriov-control-plane.yaml"},
	"hypervisor/own-cluster.yaml":        {"hypervisor/exposed-control-plane.yaml"},
	"keystoneservice/claim.yaml":         {"keystoneservice/control-plane.yaml"},
	"keystoneservice/agent.yaml":         {"keystoneservice/control-plane.yaml"},
	"storage/objects-control-plane.yaml": nil,
}

// edit changes the spec of a claim.
type edit func(spec map[string]any)

// composed holds the clouds of this process, by file and key.
var composed = map[string]*cloud{}

// example composes an example once in a process. The key names the edits.
func example(t *testing.T, file, key string, edits ...edit) *cloud {
	t.Helper()
	name := file + " " + key
	if composed[name] == nil {
		var beside []*cloud
		for _, r := range references[file] {
			beside = append(beside, example(t, r, ""))
		}
		data, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		composed[name] = composeClaim(t, name, data, beside, edits...)
	}
	return composed[name]
}

func composeClaim(t *testing.T, name string, data []byte, beside []*cloud, edits ...edit) *cloud {
	t.Helper()
	claim := map[string]any{}
	if err := yaml.Unmarshal(data, &claim); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	spec, _ := claim["spec"].(map[string]any)
	for _, e := range edits {
		e(spec)
	}
	data, err := yaml.Marshal(claim)
	if err != nil {
		t.Fatal(err)
	}
	var there []*structpb.Struct
	for _, b := range beside {
		there = append(there, b.result.Existing...)
	}
	c, err := composeOn(examples.Platform, name, data, there)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// composeOn composes a claim on a platform, beside the claims that it refers to.
func composeOn(platform []byte, name string, claim []byte, there []*structpb.Struct) (*cloud, error) {
	r, err := preview.RunWithClaims(there, claim, platform, kinds.Runners())
	if err != nil {
		return nil, err
	}
	c := &cloud{name: name, claim: claim, result: r}
	for _, o := range r.Objects {
		body := encoded.Of(o.Manifest)
		if inner, ok := wrapper.Desired(body); ok {
			body = inner
		}
		c.objects = append(c.objects, object{Object: o, manifest: body.Map()})
	}
	return c, nil
}

// parsed returns an object that is written in YAML.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// merged lays a patch over an object: null removes a field, and lists are replaced.
func merged(base, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			below, _ := out[key].(map[string]any)
			out[key] = merged(below, v)
		default:
			out[key] = value
		}
	}
	return out
}
