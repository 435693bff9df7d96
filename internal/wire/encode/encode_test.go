package encode_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

type inner struct {
	Count int    `json:"count,omitempty"`
	Label string `json:"label"`
}

type embeddedPointer struct {
	Far string `json:"far,omitempty"`
}

// shape has a field for each rule.
type shape struct {
	inner            `json:",inline"`
	*embeddedPointer `json:",inline"`

	Label    string                       `json:"label"` // hides the field of inner
	Scalar   int32                        `json:"scalar"`
	Flag     bool                         `json:"flag"`
	Float    float32                      `json:"float"`
	Unsigned uint64                       `json:"unsigned"`
	Struct   inner                        `json:"struct"`
	Named    string                       // no tag
	Ignored  string                       `json:"-"`
	Dash     string                       `json:"-,"` //nolint:staticcheck // a name that encoding/json takes
	Integer  *int64                       `json:"integer,omitempty"`
	Text     *string                      `json:"text,omitempty"`
	Switch   *bool                        `json:"switch"`
	Empty    *inner                       `json:"empty"`
	List     []inner                      `json:"list,omitempty"`
	Pointers []*inner                     `json:"pointers"`
	Map      map[string]inner             `json:"map,omitempty"`
	Strings  map[string]string            `json:"strings,omitempty"`
	ByName   map[corev1.ResourceName]bool `json:"byName"`
	Nested   map[string][]string          `json:"nested"`
	Bytes    []byte                       `json:"bytes,omitempty"`
	Array    [2]int                       `json:"array"`
	Any      any                          `json:"any"`
	Quantity resource.Quantity            `json:"quantity"`
	Port     intstr.IntOrString           `json:"port"`
	Time     metav1.Time                  `json:"time"`
	Micro    *metav1.MicroTime            `json:"micro"`
	Duration metav1.Duration              `json:"duration"`
	Raw      runtime.RawExtension         `json:"raw"`
	Fields   *metav1.FieldsV1             `json:"fields"`
	Pointed  pointed                      `json:"pointed"`
	ByPoint  map[string]pointed           `json:"byPoint"`
	Textual  textual                      `json:"textual"`

	private string
}

// pointed implements its encoding on the pointer receiver.
type pointed struct{ n int }

func (p *pointed) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"n": p.n}) }

// textual implements MarshalText.
type textual struct{ s string }

func (t textual) MarshalText() ([]byte, error) { return []byte("<" + t.s + ">"), nil }

func TestEncodesValuesOfAllTypes(t *testing.T) {
	noon := time.Date(2025, 10, 1, 12, 0, 0, 123456000, time.UTC)

	cases := map[string]struct {
		reason string
		args   any
		want   string
	}{
		"Nothing":        {"A struct left alone owns nothing.", shape{private: "x"}, `{}`},
		"Zeros":          {"A zero that is no pointer was not set.", shape{Scalar: 0, Flag: false, Named: ""}, `{}`},
		"Scalars":        {"Scalars are emitted by their JSON names.", shape{Scalar: 3, Flag: true, Unsigned: 7, Named: "n", Dash: "d", Ignored: "i"}, `{"scalar":3,"flag":true,"unsigned":7,"Named":"n","-":"d"}`},
		"Float32":        {"A float32 keeps its shortest decimal.", shape{Float: 0.1}, `{"float":0.1}`},
		"Inline":         {"Embedded structs belong to the outer one, which hides their names.", shape{inner: inner{Count: 1, Label: "hidden"}, Label: "seen"}, `{"count":1,"label":"seen"}`},
		"InlinePointer":  {"An embedded pointer likewise.", shape{embeddedPointer: &embeddedPointer{Far: "x"}}, `{"far":"x"}`},
		"PointersToZero": {"A pointer marks an intended zero value.", shape{Integer: new(int64(0)), Text: new(""), Switch: new(false), Empty: &inner{}}, `{"integer":0,"text":"","switch":false,"empty":{}}`},
		"EmptyNotNil":    {"Empty is not nil.", shape{List: []inner{}, Pointers: []*inner{}, Map: map[string]inner{}, Strings: map[string]string{}, Bytes: []byte{}}, `{"list":[],"pointers":[],"map":{},"strings":{},"bytes":""}`},
		"Elements":       {"An element is emitted even if it is zero.", shape{List: []inner{{}, {Count: 1}}, Pointers: []*inner{nil, {}}, Map: map[string]inner{"a": {}}, Strings: map[string]string{"a": ""}, ByName: map[corev1.ResourceName]bool{"x": false}, Nested: map[string][]string{"n": nil, "e": {}, "l": {""}}}, `{"list":[{},{"count":1}],"pointers":[null,{}],"map":{"a":{}},"strings":{"a":""},"byName":{"x":false},"nested":{"n":null,"e":[],"l":[""]}}`},
		"Bytes":          {"Bytes are base64.", shape{Bytes: []byte{0xff, 0}}, `{"bytes":"/wA="}`},
		"Array":          {"An array is a list.", shape{Array: [2]int{0, 1}}, `{"array":[0,1]}`},
		"Any":            {"The value of an interface is always emitted.", shape{Any: inner{}}, `{"any":{}}`},
		"Tree":           {"Everything in a tree stays.", shape{Any: map[string]any{"n": nil, "z": int64(0), "i": 1, "f": 1.5, "s": "", "b": false, "m": map[string]any{}, "l": []any{}, "j": json.Number("12"), "t": []string{"a"}, "u": uint8(3)}}, `{"any":{"n":null,"z":0,"i":1,"f":1.5,"s":"","b":false,"m":{},"l":[],"j":12,"t":["a"],"u":3}}`},
		"Quantity":       {"A quantity keeps its text.", shape{Quantity: resource.MustParse("1.5Gi")}, `{"quantity":"1536Mi"}`},
		"QuantityZero":   {"A quantity that was set to 0 is not one left alone.", shape{Quantity: resource.MustParse("0")}, `{"quantity":"0"}`},
		"PortNumber":     {"A port by number.", shape{Port: intstr.FromInt32(80)}, `{"port":80}`},
		"PortName":       {"A port by name.", shape{Port: intstr.FromString("http")}, `{"port":"http"}`},
		"Times":          {"Times are RFC 3339.", shape{Time: metav1.NewTime(noon), Micro: new(metav1.NewMicroTime(noon)), Duration: metav1.Duration{Duration: 90 * time.Second}}, `{"time":"2025-10-01T12:00:00Z","micro":"2025-10-01T12:00:00.123456Z","duration":"1m30s"}`},
		"ZeroTimeLocal":  {"A zero time is zero in every time zone.", shape{Time: metav1.NewTime(time.Time{}.In(time.FixedZone("x", 3600)))}, `{}`},
		"Raw":            {"Raw JSON stays, zeros too.", shape{Raw: runtime.RawExtension{Raw: []byte(`{"a":0,"b":{},"c":[1.5,"x",null]}`)}}, `{"raw":{"a":0,"b":{},"c":[1.5,"x",null]}}`},
		"RawTyped":       {"An embedded typed object follows the same rules.", shape{Raw: runtime.RawExtension{Object: &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}}}, `{"raw":{"spec":{"ports":[{"port":80}]}}}`},
		"RawTree":        {"An embedded tree stays.", shape{Raw: runtime.RawExtension{Object: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}}}, `{"raw":{"spec":{}}}`},
		"FieldsV1":       {"Types with a JSON of their own use it.", shape{Fields: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}, `{"fields":{"f:spec":{}}}`},
		"PointerMethod":  {"By a method of the pointer as well, in fields and in maps.", shape{Pointed: pointed{n: 2}, ByPoint: map[string]pointed{"a": {n: 3}}}, `{"pointed":{"n":2},"byPoint":{"a":{"n":3}}}`},
		"TextMethod":     {"Or by their text.", shape{Textual: textual{s: "t"}}, `{"textual":"<t>"}`},
		"LargestWhole":   {"2^53 is still exact.", shape{Integer: new(int64(1 << 53)), Any: int64(-1 << 53)}, `{"integer":9007199254740992,"any":-9007199254740992}`},
		"Nil":            {"Nil alone is null.", nil, `null`},
		"Scalar":         {"A value alone is emitted even if it is zero.", 0, `0`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := encodeValue(tc.args)
			if err != nil {
				t.Fatalf("%s\nValue(...): %v", tc.reason, err)
			}
			var want any
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nValue(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// encodeValue encodes a value inside of an object, and decodes it again.
func encodeValue(v any) (any, error) {
	s, err := encode.Struct(map[string]any{"v": v})
	return s.At("v").Any(), err
}

type cycle struct {
	Next *cycle `json:"next"`
}

func TestRejectsUnrepresentableValues(t *testing.T) {
	round := &cycle{}
	round.Next = round
	loop := map[string]any{}
	loop["loop"] = loop

	cases := map[string]struct {
		reason string
		args   any
		want   string
	}{
		"TooLarge":        {"A number that loses digits.", shape{Integer: new(int64(1<<53 + 1))}, "field v.integer: 9007199254740993 is beyond ±2^53"},
		"TooSmall":        {"On the other side.", map[string]any{"n": int64(-1<<53 - 1)}, "field v.n: -9007199254740993 is beyond"},
		"TooLargeUint":    {"Unsigned.", shape{Unsigned: math.MaxUint64}, "field v.unsigned: 18446744073709551615 is beyond"},
		"TooLargeLiteral": {"In raw JSON.", shape{Raw: runtime.RawExtension{Raw: []byte(`{"a":[9007199254740993]}`)}}, "field v.raw.a[0]: 9007199254740993 is beyond"},
		"HugeLiteral":     {"Beyond int64.", json.Number("99999999999999999999"), "99999999999999999999 is beyond"},
		"NoLiteral":       {"No number at all.", json.Number("1e999"), `"1e999" is not a number`},
		"NaN":             {"Not finite.", map[string]any{"a": []any{math.NaN()}}, "field v.a[0]: NaN is not a number"},
		"Infinite":        {"Not finite.", shape{Float: float32(math.Inf(1))}, "field v.float: +Inf is not a number"},
		"Text":            {"No UTF-8.", shape{List: []inner{{}, {Label: "\xff"}}}, "field v.list[1].label: the text is not valid UTF-8"},
		"Key":             {"No UTF-8 in a key.", map[string]string{"\xff": ""}, "the key is not valid UTF-8"},
		"OneKey":          {"For several errors, the result does not depend on the order of the map.", map[string]any{"b": math.NaN(), "c": math.NaN(), "x.y/z": math.NaN(), "d": 1}, `field v["x.y/z"]: NaN`},
		"BadRaw":          {"Raw bytes that are no JSON.", shape{Raw: runtime.RawExtension{Raw: []byte(`{"a":`)}}, "field v.raw: it is not valid JSON"},
		"TrailingRaw":     {"Two documents.", shape{Raw: runtime.RawExtension{Raw: []byte(`{} {}`)}}, "field v.raw: it is not valid JSON"},
		"Func":            {"No JSON form.", map[string]any{"f": func() {}}, "field v.f: the Go type func() has no JSON representation"},
		"IntKeys":         {"JSON's keys are strings.", map[int]string{1: "a"}, "the keys of a map must be strings, not int"},
		"CyclePointer":    {"A value that contains itself.", round, "nested more than 1000 levels"},
		"CycleMap":        {"A tree that contains itself.", loop, "nested more than 1000 levels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 20 { // The iteration order of maps is random.
				got, err := encodeValue(tc.args)
				if err == nil {
					t.Fatalf("%s\nValue(...) = %v, want an error", tc.reason, got)
				}
				if !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("%s\nValue(...): got error %q, want it to contain %q", tc.reason, err, tc.want)
				}
			}
		})
	}
}

func TestRejectsInvalidObjects(t *testing.T) {
	deployment := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: "keystone"},
		}
		change(d)
		return d
	}
	tree := func(field string, v any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}}}
		if err := unstructured.SetNestedField(o.Object, v, strings.Split(field, ".")...); err != nil {
			t.Fatal(err)
		}
		return o
	}
	now := metav1.NewTime(time.Unix(1, 0))

	cases := map[string]struct {
		reason string
		args   runtime.Object
		want   string
	}{
		"Nil":               {"No object.", nil, "cannot encode an object that is nil"},
		"TypedNil":          {"No object in an interface.", (*appsv1.Deployment)(nil), "cannot encode an object that is nil"},
		"NilTree":           {"An unstructured object without a tree.", &unstructured.Unstructured{}, "it has no apiVersion or no kind"},
		"NoKind":            {"The builder forgot the TypeMeta.", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, `cannot encode *v1.Service "s": it has no apiVersion or no kind`},
		"Status":            {"A status is not ours.", deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), `cannot encode Deployment "keystone": field status: a status belongs to`},
		"StatusInTree":      {"Nor an empty one in a tree.", tree("status", map[string]any{}), "field status: a status belongs to"},
		"UID":               {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.UID = "u" }), "field metadata.uid: the API server owns it"},
		"ResourceVersion":   {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.ResourceVersion = "1" }), "field metadata.resourceVersion: "},
		"Generation":        {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.Generation = 1 }), "field metadata.generation: "},
		"CreationTimestamp": {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.CreationTimestamp = now }), "field metadata.creationTimestamp: "},
		"NullTimestamp":     {"A null in a tree is not ignored.", tree("metadata.creationTimestamp", nil), "field metadata.creationTimestamp: "},
		"DeletionTimestamp": {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.DeletionTimestamp = &now }), "field metadata.deletionTimestamp: "},
		"ManagedFields":     {"Server-owned.", deployment(func(d *appsv1.Deployment) { d.ManagedFields = []metav1.ManagedFieldsEntry{} }), "field metadata.managedFields: "},
		"Path": {"The error names the place.", deployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"c5c3.io/hash": "\xff"}
		}), `cannot encode Deployment "keystone": field spec.template.metadata.annotations["c5c3.io/hash"]: the text is not valid UTF-8`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := encode.Object(tc.args)
			if err == nil {
				t.Fatalf("%s\nObject(...) = %v, want an error", tc.reason, got)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nObject(...): got error %q, want it to contain %q", tc.reason, err, tc.want)
			}
		})
	}
}

// FuzzValueRaw encodes raw JSON, which a tenant may have written. It must not panic, and returns the same value as
// encoding/json.
func FuzzValueRaw(f *testing.F) {
	for _, s := range []string{`{"a":[0,1.5e3,"x",null,{}]}`, `9007199254740993`, `"\ud800"`, `{"a":1}{}`, `[[[[`, `-0`, `1e999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := encodeValue(runtime.RawExtension{Raw: raw})
		var want any
		if bad := json.Unmarshal(raw, &want); bad != nil {
			if err == nil && raw != nil {
				t.Errorf("Value(%q) = %v, but encoding/json returns: %v", raw, got, bad)
			}
			return
		}
		if err != nil {
			return // This is valid JSON that a Struct cannot represent.
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Value(%q): -json.Unmarshal, +got:\n%s", raw, diff)
		}
	})
}
