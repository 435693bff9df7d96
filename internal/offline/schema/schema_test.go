package schema_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		meta   string
		spec   string
		rest   string
		want   []string
	}{
		"Minimal": {
			reason: "A required field alone is enough, the rule on replicas sees the default.",
			spec:   "color: red",
		},
		"Everything": {
			reason: "Every field in its right form is accepted.",
			spec: `{color: green, replicas: 5, ratio: 1, reason: load, class: c, host: a.b, since: "2026-01-02T03:04:05Z", address: 192.0.2.1,
port: 80, note: null, quota: {cores: 8}, tags: [a, b], ports: [{name: a}, {name: b, number: 1}],
extra: {any: {thing: [1]}, known: {a: b}}, template: {apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}, spec: {free: true}}}`,
		},
		"Unknown": {
			reason: "Each unknown field is reported, also in lists, in metadata, and in known fields below a free-form object.",
			meta:   "{name: w, lables: {}}",
			spec:   "{color: red, colour: red, ports: [{name: a, numbr: 1}], extra: {x: 1, known: {b: c}}, template: {apiVersion: v1, kind: Pod, metadata: {nam: x}}}",
			rest:   "status: {fase: Done}\ntop: 1",
			want: []string{
				"metadata.lables: Forbidden: unknown field",
				"spec.colour: Forbidden: unknown field",
				"spec.extra.known.b: Forbidden: unknown field",
				"spec.ports[0].numbr: Forbidden: unknown field",
				"spec.template.metadata.nam: Forbidden: unknown field",
				"status.fase: Forbidden: unknown field",
				"top: Forbidden: unknown field",
			},
		},
		"NoSpec": {
			reason: "A required object that is missing is the only error.",
			want:   []string{"spec: Required value"},
		},
		"Types": {
			reason: "A wrong type is reported once, without the rules that could not run.",
			spec:   `{color: 3, replicas: "3", tags: a, quota: {cores: many}, port: true}`,
			want: []string{
				`spec.color: Invalid value: "integer": must be of type string: "integer"`,
				`spec.port: Invalid value: "boolean": must be of type integer,string: "boolean"`,
				`spec.quota.cores: Invalid value: "string": must be of type integer: "string"`,
				`spec.replicas: Invalid value: "string": must be of type integer: "string"`,
				`spec.tags: Invalid value: "string": must be of type array: "string"`,
			},
		},
		"Values": {
			reason: "Enumerations, bounds, patterns and formats.",
			spec:   `{color: blue, replicas: 10, reason: ab, host: A, since: yesterday, address: "::1", tags: [a, b, c, d, e, f]}`,
			want: []string{
				`spec.address: Invalid value: "::1": must be of type ipv4: "::1"`,
				`spec.color: Unsupported value: "blue": supported values: "red", "green"`,
				`spec.host: Invalid value: "A": should match '^[a-z.]+$'`,
				`spec.reason: Invalid value: "ab": should be at least 3 chars long`,
				`spec.replicas: Invalid value: 10: should be less than or equal to 9`,
				`spec.since: Invalid value: "yesterday": must be of type date-time: "yesterday"`,
				`spec.tags: Too many: 6: must have at most 5 items`,
			},
		},
		"Fraction": {
			reason: "A fraction is no integer.",
			spec:   "{color: red, replicas: 1.5}",
			want:   []string{`spec.replicas: Invalid value: "number": must be of type integer: "number"`},
		},
		"Null": {
			reason: "A null that the schema does not allow is as good as absent: dropped, or the default.",
			spec:   "{color: red, replicas: null, reason: null}",
		},
		"ListTypes": {
			reason: "A set has no value twice, a map no key twice.",
			spec:   "{color: red, tags: [a, b, a], ports: [{name: a, number: 1}, {name: a, number: 2}]}",
			want: []string{
				`spec.ports[1]: Duplicate value: {"name":"a"}`,
				`spec.tags[2]: Duplicate value: "a"`,
			},
		},
		"Embedded": {
			reason: "An embedded resource has a type and valid metadata.",
			spec:   "{color: red, template: {metadata: {name: a/b}}}",
			want: []string{
				"spec.template.apiVersion: Required value",
				"spec.template.kind: Required value",
				"spec.template.metadata.name: Invalid value: \"a/b\": may not contain '/'",
			},
		},
		"EmbeddedMalformed": {
			reason: "Metadata inside that cannot be read end it there.",
			spec:   "{color: red, replicas: 7, template: {apiVersion: v1, kind: Pod, metadata: {labels: 5}}}",
			want: []string{
				`spec.template.metadata: Invalid value: {"labels":5}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string`,
			},
		},
		"Rules": {
			reason: "CEL rules run where the shape is right, the root's as well.",
			meta:   "{name: much-too-long}",
			spec:   "{color: red, replicas: 7, ratio: 2}",
			want: []string{
				`object: Invalid value: names are at most 10 characters long`,
				`spec: Invalid value: five replicas or more need a reason`,
				`spec: Invalid value: the ratio must be below 1.5`,
			},
		},
		"TransitionRule": {
			reason: "A rule on oldSelf does not apply to creation.",
			spec:   "{color: red, class: any}",
		},
		"Scale": {
			reason: "Replicas are not negative, although the schema has no minimum.",
			spec:   "{color: red, replicas: -1}",
			want:   []string{"spec.replicas: Invalid value: -1: must be between 0 and 2147483647"},
		},
		"Metadata": {
			reason: "Names, labels and annotations follow Kubernetes' rules.",
			meta:   `{name: UPPER, labels: {a: "b c"}}`,
			spec:   "color: red",
			want: []string{
				"metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
				"metadata.name: Invalid value: \"UPPER\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
			},
		},
		"MalformedMetadata": {
			reason: "Metadata that cannot be read ends it there.",
			meta:   `{name: [a]}`,
			spec:   "colour: red",
			want:   []string{"metadata.name: Invalid value: \"array\": must be of type string: \"array\""},
		},
		"NoName": {
			reason: "An object needs a name.",
			meta:   "{}",
			spec:   "color: red",
			want:   []string{"metadata.name: Required value: name or generateName is required"},
		},
		"StatusDropped": {
			reason: "Creation drops a status, so a wrong value does not matter.",
			spec:   "color: red",
			rest:   "status: {phase: Asleep}",
		},
	}
	v := widgets(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := widget(t, tc.meta, tc.spec, tc.rest)
			before := widget(t, tc.meta, tc.spec, tc.rest)
			if diff := cmp.Diff(tc.want, sentences(v.Validate(obj))); diff != "" {
				t.Errorf("%s\nValidate(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("Validate changed its argument: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestValidateRejectsOtherKinds(t *testing.T) {
	v := widgets(t)
	got := sentences(v.Validate(map[string]any{"apiVersion": "v1", "kind": 7}))
	want := []string{
		`apiVersion: Invalid value: "v1": must be test.example.org/v1`,
		`kind: Invalid value: 7: must be Widget`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Validate of another kind: -want, +got:\n%s", diff)
	}
	if got := sentences(v.Validate(nil)); len(got) != 2 {
		t.Errorf("Validate(nil): want an error on apiVersion and on kind, got %q", got)
	}
}

func TestValidateStatus(t *testing.T) {
	v := widgets(t)
	got := sentences(v.ValidateStatus(widget(t, "", "color: red", "status: {phase: Asleep}")))
	want := []string{`status.phase: Unsupported value: "Asleep": supported values: "Busy", "Done"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ValidateStatus(...): -want, +got:\n%s", diff)
	}
}

func TestValidateUpdate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		old, obj string
		want     []string
	}{
		"Same": {
			reason: "Nothing changed.",
			old:    "{color: red, class: a}",
			obj:    "{color: red, class: a}",
		},
		"Immutable": {
			reason: "A transition rule compares with the old object.",
			old:    "{color: red, class: a}",
			obj:    "{color: red, class: b}",
			want:   []string{`spec.class: Invalid value: "b": the class is immutable`},
		},
		"Ratchet": {
			reason: "Unchanged invalid fields are accepted, new errors are not.",
			old:    "{color: blue, host: a}",
			obj:    "{color: blue, host: B}",
			want:   []string{`spec.host: Invalid value: "B": should match '^[a-z.]+$'`},
		},
		"Twice": {
			reason: "New duplicates are rejected.",
			old:    "{color: red, tags: [a]}",
			obj:    "{color: red, tags: [a, a]}",
			want:   []string{`spec.tags[1]: Duplicate value: "a"`},
		},
		"TwiceAlready": {
			reason: "Existing duplicates are accepted.",
			old:    "{color: red, tags: [a, a]}",
			obj:    "{color: red, tags: [b, b]}",
		},
		"Embedded": {
			reason: "An object inside has to be one, after an update, too.",
			old:    "{color: red, template: {apiVersion: v1, kind: Pod}}",
			obj:    "{color: red, template: {kind: Pod, metadata: {name: a/b}}}",
			want: []string{
				"spec.template.apiVersion: Required value",
				"spec.template.metadata.name: Invalid value: \"a/b\": may not contain '/'",
			},
		},
		"Unknown": {
			reason: "Only unknown fields of the new object are errors.",
			old:    "{color: red, gone: 1}",
			obj:    "{color: red, came: 1}",
			want:   []string{"spec.came: Forbidden: unknown field"},
		},
	}
	v := widgets(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := sentences(v.ValidateUpdate(widget(t, "", tc.obj, ""), widget(t, "", tc.old, "")))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nValidateUpdate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	renamed := sentences(v.ValidateUpdate(widget(t, "{name: b}", "color: red", ""), widget(t, "{name: a}", "color: red", "")))
	if diff := cmp.Diff([]string{`metadata.name: Invalid value: "b": field is immutable`}, renamed); diff != "" {
		t.Errorf("ValidateUpdate of a renamed object: -want, +got:\n%s", diff)
	}
	got := sentences(v.ValidateUpdate(widget(t, "", "color: red", ""), map[string]any{}))
	if len(got) != 1 || !strings.HasPrefix(got[0], "object: Internal error: cannot read the old object: ") {
		t.Errorf("ValidateUpdate with an old object of no kind: want one error, of the object, got %q", got)
	}
}

func TestDefault(t *testing.T) {
	obj := widget(t, "", "{color: red, replicas: null, reason: null, note: null, ports: [{name: a}]}", "")
	widgets(t).Default(obj)
	want := map[string]any{
		"color": "red", "replicas": int64(3), "note": nil,
		"ports": []any{map[string]any{"name": "a", "number": int64(80)}},
	}
	if diff := cmp.Diff(want, obj["spec"]); diff != "" {
		t.Errorf("Default(...): -want, +got:\n%s", diff)
	}
}

func TestNew(t *testing.T) {
	crd := readCRD(t, "widget.yaml")
	for _, version := range []string{"v0", "v2"} {
		if _, err := schema.New(crd, version); err == nil {
			t.Errorf("New(%s): want an error, the CRD does not serve it", version)
		}
	}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.PatternProperties = map[string]apiextensionsv1.JSONSchemaProps{"a": {}}
	if _, err := schema.New(crd, "v1"); err == nil {
		t.Error("New of a schema that is not structural: want an error")
	}
}

func TestNormalize(t *testing.T) {
	type text string
	got, err := schema.Normalize(map[string]any{
		"int": 1, "int32": int32(2), "uint8": uint8(3), "whole": 4.0, "half": 0.5, "huge": 1e300, "text": text("t"),
		"strings": []string{"a"}, "map": map[string]string{"k": "v"}, "list": []any{5.0}, "nil": []any(nil), "field": map[string]any(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"int": int64(1), "int32": int64(2), "uint8": int64(3), "whole": int64(4), "half": 0.5, "huge": 1e300, "text": "t",
		"strings": []any{"a"}, "map": map[string]any{"k": "v"}, "list": []any{int64(5)}, "nil": nil, "field": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Normalize(...): -want, +got:\n%s", diff)
	}
	for name, v := range map[string]any{"not a number": math.NaN(), "infinity": math.Inf(1), "negative infinity": math.Inf(-1), "channel": make(chan int)} {
		if _, err := schema.Normalize(map[string]any{"v": []any{v}}); err == nil {
			t.Errorf("Normalize of a %s: want an error", name)
		}
		if errs := widgets(t).Validate(map[string]any{"v": v}); len(errs) != 1 {
			t.Errorf("Validate of a %s: want one error, got %v", name, errs)
		}
	}
}

// TestNormalizeConvertsWholeNumbers tests that whole numbers in the range of int64 become int64.
func TestNormalizeConvertsWholeNumbers(t *testing.T) {
	for f, want := range map[float64]any{
		0: int64(0), -1: int64(-1), 1.5: 1.5, 1 << 62: int64(1 << 62), -1 << 63: int64(math.MinInt64), 1 << 63: float64(1 << 63), -1.5e19: -1.5e19,
	} {
		got, err := schema.Normalize(map[string]any{"v": f})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got["v"]); diff != "" {
			t.Errorf("Normalize of %v: -want, +got:\n%s", f, diff)
		}
	}
	_, err := schema.Normalize(map[string]any{"a": map[string]any{"b": []any{1, math.NaN()}}})
	if want := "cannot represent the object as JSON: a: b: [1]: NaN is not a valid number in JSON"; err == nil || err.Error() != want {
		t.Errorf("Normalize: %v, want %s", err, want)
	}
}

// TestRulesSkipMalformedObjects tests that CEL rules do not run on objects of the wrong shape, and do run with other errors.
func TestRulesSkipMalformedObjects(t *testing.T) {
	const rule = "spec: Invalid value: five replicas or more need a reason"
	cases := map[string]struct{ spec, want string }{
		"Unsupported": {"{color: blue, replicas: 7}", `spec.color: Unsupported value: "blue": supported values: "red", "green"`},
		"Required":    {"{replicas: 7}", "spec.color: Required value"},
		"TooLong":     {"{color: red, replicas: 7, class: aaaaaaaaaaaaaaaaaaaaaaaaa}", "spec.class: Too long: may not be more than 20 bytes"},
		"TooMany":     {"{color: red, replicas: 7, tags: [a, b, c, d, e, f]}", "spec.tags: Too many: 6: must have at most 5 items"},
		"Type":        {"{color: red, replicas: 7, note: 1}", `spec.note: Invalid value: "integer": must be of type string: "integer"`},
		"Pattern":     {"{color: red, replicas: 7, host: A}", `spec.host: Invalid value: "A": should match '^[a-z.]+$'`},
		"Unknown":     {"{color: red, replicas: 7, colour: red}", "spec.colour: Forbidden: unknown field"},
	}
	v := widgets(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := []string{tc.want}
			if name == "Pattern" || name == "Unknown" {
				want = []string{rule, tc.want}
			}
			if diff := cmp.Diff(want, sentences(v.Validate(widget(t, "", tc.spec, "")))); diff != "" {
				t.Errorf("Validate(...): -want, +got:\n%s", diff)
			}
			old := widget(t, "", "{color: red, replicas: 6, reason: load}", "")
			if diff := cmp.Diff(want, sentences(v.ValidateUpdate(widget(t, "", tc.spec, ""), old))); diff != "" {
				t.Errorf("ValidateUpdate(...): -want, +got:\n%s", diff)
			}
		})
	}
}

// TestUpdateCarriesOver tests that fields of the server are taken from the stored object, whether they are sent or not.
func TestUpdateCarriesOver(t *testing.T) {
	const owned = `{name: w, namespace: here, uid: u, resourceVersion: "5", generation: 7, creationTimestamp: "2026-01-02T03:04:05Z", ` +
		`deletionTimestamp: "2026-01-02T03:04:06Z", deletionGracePeriodSeconds: 30}`
	cases := map[string]struct {
		reason, oldMeta, meta string
		oldRest, rest         string
		want                  []string
	}{
		"Left":     {reason: "A client need not send it.", oldMeta: owned},
		"Sent":     {reason: "Sent values are ignored.", oldMeta: owned, meta: `{name: w, namespace: here, uid: v, resourceVersion: "4", generation: 1, creationTimestamp: "2025-01-02T03:04:05Z"}`},
		"None":     {reason: "An object that was never stored has no such fields."},
		"Moved":    {reason: "An object does not move.", oldMeta: owned, meta: "{name: w, namespace: there}", want: []string{`metadata.namespace: Invalid value: "there": field is immutable`}},
		"Status":   {reason: "A status that is sent is dropped.", rest: "status: {replicas: -1}", oldRest: "status: {replicas: 1}"},
		"NoStatus": {reason: "Even if the stored object has none.", rest: "status: {replicas: -1}"},
		"Stored": {
			reason: "The stored one is kept.", oldRest: "status: {replicas: -1}", rest: "status: {replicas: 1}",
			want: []string{"status.replicas: Invalid value: -1: must be between 0 and 2147483647"},
		},
	}
	v := widgets(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			old, obj := widget(t, tc.oldMeta, "color: red", tc.oldRest), widget(t, tc.meta, "color: red", tc.rest)
			if diff := cmp.Diff(tc.want, sentences(v.ValidateUpdate(obj, old))); diff != "" {
				t.Errorf("%s\nValidateUpdate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMetadataErrorsMatchOtherFields tests that errors in metadata have the format of other fields.
func TestMetadataErrorsMatchOtherFields(t *testing.T) {
	cases := map[string]struct {
		metadata any
		want     string
	}{
		"Object":  {"x", `metadata: Invalid value: "string": must be of type object: "string"`},
		"Map":     {map[string]any{"name": "w", "labels": "x"}, `metadata.labels: Invalid value: "string": must be of type object: "string"`},
		"String":  {map[string]any{"name": 1}, `metadata.name: Invalid value: "number": must be of type string: "number"`},
		"List":    {map[string]any{"name": "w", "finalizers": "x"}, `metadata.finalizers: Invalid value: "string": must be of type array: "string"`},
		"Integer": {map[string]any{"name": "w", "generation": "x"}, `metadata.generation: Invalid value: "string": must be of type integer: "string"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := widget(t, "", "color: red", "")
			obj["metadata"] = tc.metadata
			if diff := cmp.Diff([]string{tc.want}, sentences(widgets(t).Validate(obj))); diff != "" {
				t.Errorf("Validate(...): -want, +got:\n%s", diff)
			}
		})
	}
}

// TestOnlyNamespacedKindsHaveNamespace tests that objects of namespaced kinds, and only these, have a namespace.
func TestOnlyNamespacedKindsHaveNamespace(t *testing.T) {
	placed, free := widget(t, "{name: w, namespace: here}", "color: red", ""), widget(t, "{name: w}", "color: red", "")
	v := widgets(t)
	if errs := append(v.Validate(placed), v.Validate(free)...); len(errs) > 0 {
		t.Errorf("a namespaced kind: %v", errs)
	}
	crd := readCRD(t, "widget.yaml")
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	v, err := schema.New(crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if errs := v.Validate(free); len(errs) > 0 {
		t.Errorf("a kind of the cluster's: %v", errs)
	}
	if diff := cmp.Diff([]string{"metadata.namespace: Forbidden: not allowed on this type"}, sentences(v.Validate(placed))); diff != "" {
		t.Errorf("a kind of the cluster's, in a namespace: -want, +got:\n%s", diff)
	}
}

// TestOtherVersionHasSingleError tests that an object of another version has no other errors.
func TestOtherVersionHasSingleError(t *testing.T) {
	obj := widget(t, "", "colour: red", "")
	obj["apiVersion"] = "test.example.org/v2"
	want := []string{`apiVersion: Invalid value: "test.example.org/v2": must be test.example.org/v1`}
	if diff := cmp.Diff(want, sentences(widgets(t).Validate(obj))); diff != "" {
		t.Errorf("Validate(...): -want, +got:\n%s", diff)
	}
}

// TestFields tests the names of the fields below a path.
func TestFields(t *testing.T) {
	v := widgets(t)
	for path, want := range map[string][]string{
		"":                       {"apiVersion", "kind", "metadata", "spec", "status"},
		"status":                 {"phase", "replicas"},
		"spec.ports[0]":          {"name", "number"},
		"spec.ports[12].number":  nil,
		"spec.ports":             nil,
		"spec.extra.known":       {"a"},
		"spec.quota.cores":       nil,
		"spec.quota.cores.more":  nil,
		"nothing":                nil,
		"spec.nothing.at.all":    nil,
		"spec.extra.nothing":     nil,
		"spec.color":             nil,
		"spec.ports.name":        nil,
		"spec.template.metadata": nil,
	} {
		if got := v.Fields(path); !slices.Equal(got, want) {
			t.Errorf("Fields(%q) = %q, want %q", path, got, want)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	crd := readCRD(b, "widget.yaml")
	for b.Loop() {
		if _, err := schema.New(crd, "v1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	v := widgets(b)
	obj := widget(b, "", "{color: red, replicas: 5, reason: load, tags: [a, b], ports: [{name: a}, {name: b}]}", "")
	for b.Loop() {
		if errs := v.Validate(obj); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// sentences are the errors as a person reads them.
func sentences(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func widgets(tb testing.TB) *schema.Validator {
	tb.Helper()
	v, err := schema.New(readCRD(tb, "widget.yaml"), "v1")
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// widget returns a Widget from parts in YAML. Empty metadata means a default name, an empty spec is omitted.
func widget(tb testing.TB, meta, spec, rest string) map[string]any {
	tb.Helper()
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte(rest), &obj); err != nil {
		tb.Fatal(err)
	}
	obj["apiVersion"], obj["kind"] = "test.example.org/v1", "Widget"
	obj["metadata"] = map[string]any{"name": "w"}
	for key, part := range map[string]string{"metadata": meta, "spec": spec} {
		if part == "" {
			continue
		}
		var v map[string]any
		if err := yaml.Unmarshal([]byte(part), &v); err != nil {
			tb.Fatal(err)
		}
		obj[key] = v
	}
	return obj
}

func readCRD(tb testing.TB, name string) *apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(read(tb, name), crd); err != nil {
		tb.Fatal(err)
	}
	return crd
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
