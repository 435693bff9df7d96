package function_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// absentParents lists the parents whose defaults SetDefaults sets in an empty spec, with the reason for the difference to an API server, which
// sets them only if the parent exists. The Go types always contain these parents.
var absentParents = map[string]string{
	"spec.database":     requiredParent,
	"spec.identity":     requiredParent,
	"spec.issuerRef":    requiredParent,
	"spec.novaDatabase": requiredParent,
	"spec.novaQueue":    requiredParent,
	"spec.queue":        requiredParent,

	"spec.archive":        "rows are archived in every cloud",
	"spec.bootstrap":      "every Keystone has an administrator",
	"spec.consoles":       "servers have graphical consoles unless they are disabled",
	"spec.credentialKeys": "every Keystone rotates its keys",
	"spec.fernet":         "every Keystone rotates its keys",
	"spec.korcCredential": "every Keystone rotates the credential of K-ORC",
	"spec.northbound":     "every OVN has a northbound database",
	"spec.southbound":     "every OVN has a southbound database",
	"spec.network":        "the daemons are in the network of the nodes unless the claim sets another",
	"spec.tests":          "the tests run with some concurrency in any case",
	"spec.trustFlush":     "every Keystone removes expired trusts",
	"spec.uwsgi":          "every API runs in uWSGI",
}

// requiredParent is the reason for parents that an API server requires.
const requiredParent = "an API server rejects a spec without it"

// kindsWithDefaults returns the kinds whose specs functions read with SetDefaults.
func kindsWithDefaults() []kindregistry.Kind {
	platforms := slices.DeleteFunc(kindregistry.All(), func(k kindregistry.Kind) bool { return k.Folder != "platform" })
	return append(kindregistry.Composites(), platforms...)
}

// TestSetDefaultsLikeAPIServer compares SetDefaults with the defaulting of an API server, for an empty spec and for one in which each parent
// exists.
func TestSetDefaultsLikeAPIServer(t *testing.T) {
	unused := maps.Clone(absentParents)
	for _, k := range kindsWithDefaults() {
		spec := specSchema(t, k)
		t.Run(k.Kind+"/Empty", func(t *testing.T) {
			want, got := bothDefaulted(t, k, map[string]any{})
			for path, value := range want {
				if diff := cmp.Diff(value, got[path]); diff != "" {
					t.Errorf("%s: -API server, +SetDefaults:\n%s", path, diff)
				}
				delete(got, path)
			}
			for path := range got {
				parent := "spec." + strings.Split(path, ".")[1]
				reason, known := absentParents[parent]
				if !known || slices.Contains(spec.Required, strings.TrimPrefix(parent, "spec.")) != (reason == requiredParent) {
					t.Errorf("%s is set only by SetDefaults (%s)", path, reason)
				}
				delete(unused, parent)
			}
		})
		t.Run(k.Kind+"/Parents", func(t *testing.T) {
			want, got := bothDefaulted(t, k, parents(spec))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-API server, +SetDefaults:\n%s", diff)
			}
			// Each default of the schema is set in this spec.
			defaultsIn(spec, "spec", func(path string, s *apiextensionsv1.JSONSchemaProps) {
				if value, ok := got[path]; s.Type != "object" && (!ok || fmt.Sprint(value) != fmt.Sprint(decoded(t, s.Default.Raw))) {
					t.Errorf("%s is %v, want the default %s", path, value, s.Default.Raw)
				}
			})
		})
	}
	if len(unused) > 0 {
		t.Errorf("no default is below %v", unused)
	}
}

// TestZeroValueRetained tests that a field whose zero value is valid is a pointer if it has another default. Otherwise SetDefaults could not
// distinguish the zero value from an absent field.
func TestZeroValueRetained(t *testing.T) {
	for _, k := range kindsWithDefaults() {
		spec := specSchema(t, k)
		defaultsIn(spec, "spec", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			zero := map[string]any{"boolean": false, "integer": 0.0, "string": ""}[s.Type]
			if zero == nil || cmp.Equal(zero, decoded(t, s.Default.Raw)) || !accepts(t, s, zero) {
				return
			}
			object := parents(spec)
			set(object, strings.Split(path, ".")[1:], zero)
			if _, got := bothDefaulted(t, k, object); !cmp.Equal(zero, got[path]) {
				t.Errorf("%s %s: %v is replaced by %v; make the field a pointer", k.Kind, path, zero, got[path])
			}
		})
	}
}

// TestSetDefaults tests that fields with values are kept, and that a type without a schema is not changed.
func TestSetDefaults(t *testing.T) {
	xr := storagev1.StorageCluster{}
	xr.Spec.Network.Host = new(false)
	xr.Spec.Filesystems = make([]storagev1.Filesystem, 1)
	function.SetDefaults(&xr)
	if *xr.Spec.Network.Host || xr.Spec.ReplicationFactor != 3 || xr.Spec.Filesystems[0].MetadataServers != 1 {
		t.Errorf("defaults: %+v", xr.Spec)
	}
	xr.Spec.ReplicationFactor = 2
	want := *xr.DeepCopy()
	function.SetDefaults(&xr)
	if diff := cmp.Diff(want, xr); diff != "" {
		t.Errorf("the second call: -want, +got:\n%s", diff)
	}
	other := testXR{}
	if function.SetDefaults(&other); other != (testXR{}) {
		t.Errorf("a type without a schema is %+v", other)
	}
}

// specSchema returns the schema of the spec of a composite resource.
func specSchema(t *testing.T, k kindregistry.Kind) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	gvk := k.Composite()
	crd, _, err := definition.For(gvk.GroupVersion().String(), gvk.Kind)
	if err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	// Crossplane's own fields are not part of our types.
	delete(spec.Properties, "crossplane")
	for _, name := range []string{"compositionUpdatePolicy", "compositeDeletePolicy"} {
		delete(spec.Properties, name)
	}
	return &spec
}

// bothDefaulted returns the scalars and lists of the spec of a resource by path: with the defaults of an API server, and of SetDefaults.
func bothDefaulted(t *testing.T, k kindregistry.Kind, spec map[string]any) (server, functions map[string]any) {
	t.Helper()
	gvk := k.Composite()
	v, err := definition.Validator(gvk.GroupVersion().String(), gvk.Kind)
	if err != nil {
		t.Fatal(err)
	}
	read := func(o map[string]any) any {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		xr := reflect.New(k.Type).Interface()
		if err := json.Unmarshal(data, xr); err != nil {
			t.Fatal(err)
		}
		return xr
	}
	object := map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "spec": spec}
	got := read(object)
	function.SetDefaults(got)
	v.Default(object)
	return values(t, read(object)), values(t, got)
}

// values returns the scalars in the spec of a resource by path, without zero values of fields.
func values(t *testing.T, xr any) map[string]any {
	t.Helper()
	data, err := json.Marshal(reflect.ValueOf(xr).Elem().FieldByName("Spec").Interface())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	var add func(path string, v any)
	add = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				add(path+"."+name, value)
			}
		case []any:
			if len(v) > 0 {
				if _, ok := v[0].(map[string]any); !ok {
					out[path] = v
				}
			}
			for i, item := range v {
				if _, ok := item.(map[string]any); ok {
					add(fmt.Sprintf("%s.%d", path, i), item)
				}
			}
		default:
			out[path] = v
		}
	}
	add("spec", decoded(t, data))
	return out
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// parents returns an object in which each parent of a default exists, and each list of parents has one item.
func parents(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	for name, p := range s.Properties {
		if !hasDefaults(&p) {
			continue
		}
		switch {
		case p.Type == "object":
			out[name] = parents(&p)
		case p.Type == "array" && p.Items != nil && p.Items.Schema.Type == "object":
			out[name] = []any{parents(p.Items.Schema)}
		}
	}
	return out
}

func hasDefaults(s *apiextensionsv1.JSONSchemaProps) bool {
	found := false
	defaultsIn(s, "", func(string, *apiextensionsv1.JSONSchemaProps) { found = true })
	return found
}

// defaultsIn calls visit for each schema with a default. Items of lists have the index 0 in paths, values of maps an asterisk.
func defaultsIn(s *apiextensionsv1.JSONSchemaProps, path string, visit func(path string, s *apiextensionsv1.JSONSchemaProps)) {
	if s.Default != nil {
		visit(path, s)
	}
	for name, p := range s.Properties {
		defaultsIn(&p, path+"."+name, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		defaultsIn(s.Items.Schema, path+".0", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		defaultsIn(s.AdditionalProperties.Schema, path+".*", visit)
	}
}

// accepts reports whether a schema accepts a scalar.
func accepts(t *testing.T, s *apiextensionsv1.JSONSchemaProps, value any) bool {
	t.Helper()
	switch value := value.(type) {
	case float64:
		return s.Minimum == nil || *s.Minimum <= value
	case string:
		matches, err := regexp.MatchString(s.Pattern, value)
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Enum) == 0 && (s.MinLength == nil || *s.MinLength == 0) && matches
	}
	return true
}

// set sets a value in an object of parents.
func set(object map[string]any, path []string, value any) {
	var at any = object
	for _, name := range path[:len(path)-1] {
		if list, ok := at.([]any); ok {
			at = list[0]
			continue
		}
		at = at.(map[string]any)[name]
	}
	at.(map[string]any)[path[len(path)-1]] = value
}
