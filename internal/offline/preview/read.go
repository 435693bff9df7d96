package preview

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	tenantplatform "github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// readPlatform reads and checks a PlatformConfig.
func readPlatform(doc []byte) (map[string]any, error) {
	m, err := parse("the PlatformConfig", doc)
	if err != nil {
		return nil, err
	}
	const kind, apiVersion = "PlatformConfig", "crossplane.c5c3.io/v1alpha1"
	if m["kind"] != kind || m["apiVersion"] != apiVersion {
		return nil, newError("the PlatformConfig", "kind: it has to be %s of apiVersion %s, not %q of %q",
			kind, apiVersion, str(m["kind"]), str(m["apiVersion"]))
	}
	if name := str(metadata(m)["name"]); name != platformv1.DefaultName {
		return nil, newError(input(m), "metadata.name: it has to be %s: that one is asked for", platformv1.DefaultName)
	}
	if m, err = checked(doc, m); err != nil {
		return nil, err
	}
	config := platformv1.PlatformConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &config); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", input(m), err)
	}
	if err := tenantplatform.Check(&config.Spec); err != nil {
		return nil, refused(doc, input(m), sentences(err)...)
	}
	return m, nil
}

// readClaim reads and checks a claim, of a kind that has a function.
func readClaim(doc []byte, kinds map[string]function.Runner) (map[string]any, error) {
	m, err := parse("the claim", doc)
	if err != nil {
		return nil, err
	}
	claims, err := claimKinds(kinds)
	if err != nil {
		return nil, err
	}
	if apiVersion, kind := str(m["apiVersion"]), str(m["kind"]); !slices.Contains(claims, kind+" ("+apiVersion+")") {
		return nil, newError(input(m), "kind: a claim of kind %q and apiVersion %q cannot be previewed, only %s",
			kind, apiVersion, strings.Join(claims, ", "))
	}
	// An API server makes up a name, and a client knows its namespace. Here nobody does, and all names follow from these two.
	if meta, ok := m["metadata"].(map[string]any); ok || m["metadata"] == nil {
		for _, field := range []string{"namespace", "name"} {
			if v := meta[field]; v == nil || v == "" {
				return nil, newError(input(m), "metadata.%s: Required value: the names of what a claim becomes follow from it", field)
			}
		}
	}
	return checked(doc, m)
}

// claimKinds are the kinds of claims whose composite resources have a function, as "Kind (apiVersion)".
func claimKinds(kinds map[string]function.Runner) ([]string, error) {
	crds, err := definition.All()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range crds {
		if kinds["X"+c.Spec.Names.Kind+"."+c.Spec.Group] == nil {
			continue
		}
		for _, v := range c.Spec.Versions {
			out = append(out, fmt.Sprintf("%s (%s/%s)", c.Spec.Names.Kind, c.Spec.Group, v.Name))
		}
	}
	return out, nil
}

// parse reads the one object of a document.
func parse(what string, doc []byte) (map[string]any, error) {
	var v any
	if err := yaml.UnmarshalStrict(doc, &v); err != nil {
		return nil, newYAMLError(what, doc, decoder.ReplaceAllString(oneLine(err.Error()), ""))
	}
	m, ok := v.(map[string]any)
	switch {
	case v == nil:
		return nil, newError(what, "it is empty; give an object with apiVersion, kind, metadata and spec")
	case !ok:
		return nil, newError(what, "it is not an object; give one with apiVersion, kind, metadata and spec")
	case more(doc):
		return nil, newError(what, "there is more than one document; give one at a time, each in a file of its own")
	}
	m, err := schema.Normalize(m)
	if err != nil {
		return nil, newError(what, "%s", err)
	}
	return m, nil
}

// decoder is how a YAML decoder introduces its errors.
var decoder = regexp.MustCompile(`^(error converting YAML to JSON: |yaml: |unmarshal errors: |json: )+`)

// more reports whether there are several documents that say something.
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

// checked gives an object with its defaults, if an API server would take it.
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

// sentences are the errors that one error consists of.
func sentences(err error) []string {
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

// input names an object in a sentence, as far as it has names that can be shown.
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
