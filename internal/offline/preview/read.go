package preview

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	tenantplatform "github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// readPlatform reads and validates a PlatformConfig.
func readPlatform(doc []byte) (map[string]any, error) {
	m, err := parse("the PlatformConfig", doc)
	if err != nil {
		return nil, err
	}
	apiVersion, kind := platformv1.GroupVersionKind.ToAPIVersionAndKind()
	if m["kind"] != kind || m["apiVersion"] != apiVersion {
		return nil, newError("the PlatformConfig", "kind: must be %s with apiVersion %s, not %q with %q",
			kind, apiVersion, str(m["kind"]), str(m["apiVersion"]))
	}
	if name := str(metadata(m)["name"]); name != platformv1.DefaultName {
		return nil, newError(input(m), "metadata.name: must be %s", platformv1.DefaultName)
	}
	if m, err = checked(doc, m); err != nil {
		return nil, err
	}
	config := platformv1.PlatformConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &config); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", input(m), err)
	}
	if err := tenantplatform.Check(&config.Spec); err != nil {
		return nil, newFieldErrors(doc, input(m), sentences(err)...)
	}
	return m, nil
}

// readClaim reads and validates a claim of a kind that has a function, or a composite resource that the platform team creates.
func readClaim(doc []byte, kinds map[string]function.Runner) (map[string]any, error) {
	m, err := parse("the claim", doc)
	if err != nil {
		return nil, err
	}
	asClaim(m)
	if isPlatforms(m) {
		return readPlatforms(doc, m)
	}
	claims := claimKinds(kinds)
	if apiVersion, kind := str(m["apiVersion"]), str(m["kind"]); !slices.Contains(claims, kind+" ("+apiVersion+")") {
		return nil, newError(input(m), "kind: must be a claim, not %q with apiVersion %q; use one of %s, or its namespaced form of group m.%s",
			kind, apiVersion, strings.Join(claims, ", "), common.GroupVersion.Group)
	}
	// An API server generates a name, and a client sets its namespace. A preview does neither, and all names are derived from these two.
	if meta, ok := m["metadata"].(map[string]any); ok || m["metadata"] == nil {
		for _, field := range []string{"namespace", "name"} {
			if v := meta[field]; v == nil || v == "" {
				return nil, newError(input(m), "metadata.%s: Required value: the names of composed objects are derived from it", field)
			}
		}
	}
	return checked(doc, m)
}

// isPlatforms reports whether an object is a composite resource that the platform team creates.
func isPlatforms(m map[string]any) bool {
	return slices.ContainsFunc(kindregistry.WithForm(kindregistry.Platform), func(k kindregistry.Kind) bool {
		return str(m["apiVersion"]) == k.GroupVersion().String() && m["kind"] == k.Kind
	})
}

// readPlatforms validates a composite resource that the platform team creates. It has no namespace.
func readPlatforms(doc []byte, m map[string]any) (map[string]any, error) {
	if meta, ok := m["metadata"].(map[string]any); ok || m["metadata"] == nil {
		if v := meta["name"]; v == nil || v == "" {
			return nil, newError(input(m), "metadata.name: Required value: the names of composed objects are derived from it")
		}
	}
	return checked(doc, m)
}

// compositeOf returns the composite resource of a claim, or the object itself if it is a composite resource.
func compositeOf(m map[string]any) (*structpb.Struct, error) {
	if !isPlatforms(m) {
		return simulate.Composite(m, str(metadata(m)["name"]))
	}
	spec, _ := m["spec"].(map[string]any)
	return structpb.NewStruct(map[string]any{
		"apiVersion": m["apiVersion"], "kind": m["kind"], "metadata": map[string]any{"name": metadata(m)["name"]}, "spec": spec,
	})
}

// asClaim replaces the namespaced form of a claim by the claim that it creates.
func asClaim(m map[string]any) {
	for _, k := range kindregistry.WithForm(kindregistry.Namespaced) {
		if str(m["apiVersion"]) != k.GroupVersion().String() || m["kind"] != k.Kind {
			continue
		}
		m["apiVersion"] = k.Claim().GroupVersion().String()
		if spec, ok := m["spec"].(map[string]any); ok {
			delete(spec, "crossplane")
		}
	}
}

// claimKinds returns the kinds of claims whose composite resources have a function, as "Kind (apiVersion)".
func claimKinds(kinds map[string]function.Runner) []string {
	var out []string
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		if kinds[k.Composite().GroupKind().String()] != nil {
			out = append(out, fmt.Sprintf("%s (%s)", k.Kind, k.GroupVersion()))
		}
	}
	slices.Sort(out)
	return out
}

// parse reads the object in a document.
func parse(subject string, doc []byte) (map[string]any, error) {
	var v any
	if err := yaml.UnmarshalStrict(doc, &v); err != nil {
		return nil, newYAMLError(subject, doc, decoder.ReplaceAllString(oneLine(err.Error()), ""))
	}
	m, ok := v.(map[string]any)
	switch {
	case v == nil:
		return nil, newError(subject, "the file is empty; provide an object with apiVersion, kind, metadata and spec")
	case !ok:
		return nil, newError(subject, "must be an object with apiVersion, kind, metadata and spec")
	case more(doc):
		return nil, newError(subject, "the file contains more than one document; pass each document in its own file")
	}
	m, err := schema.Normalize(m)
	if err != nil {
		return nil, newError(subject, "%s", err)
	}
	return m, nil
}

// decoder matches prefixes of a YAML decoder's errors.
var decoder = regexp.MustCompile(`^(error converting YAML to JSON: |yaml: |unmarshal errors: |json: )+`)

// more reports whether doc contains several non-empty documents.
func more(doc []byte) bool {
	n := 0
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(doc))); ; {
		one, err := r.Read()
		if err != nil {
			return n > 1
		}
		var v any
		if yaml.Unmarshal(one, &v) != nil || v != nil {
			n++
		}
	}
}

// checked returns an object with its defaults if it is valid.
func checked(doc []byte, m map[string]any) (map[string]any, error) {
	v, err := definition.Validator(str(m["apiVersion"]), str(m["kind"]))
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", input(m), err)
	}
	v.Default(m)
	if errs := v.Validate(m); len(errs) > 0 {
		return nil, newSchemaErrors(v, doc, input(m), errs)
	}
	return m, nil
}

// sentences returns the messages of a joined error.
func sentences(err error) []string {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range joined.Unwrap() {
		out = append(out, sentences(e)...)
	}
	return out
}

// input returns the kind and name of an object for a message, as far as they are printable.
func input(m map[string]any) string {
	kind, name := str(m["kind"]), str(metadata(m)["name"])
	switch {
	case !word.MatchString(kind):
		return "the object"
	case !word.MatchString(name):
		return kind
	}
	return kind + " " + name
}

var word = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}$`)

func metadata(m map[string]any) map[string]any {
	meta, _ := m["metadata"].(map[string]any)
	return meta
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
