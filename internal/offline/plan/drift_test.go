package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestCompare checks the differences between an existing and a composed object, as "path: existing → composed".
func TestCompare(t *testing.T) {
	cases := map[string]struct {
		reason             string
		existing, composed string
		want               []string
		wantReason         string
	}{
		"Equal":           {"equal objects have no drift", `{kind: A, spec: {x: 1}}`, `{kind: A, spec: {x: 1}}`, nil, ""},
		"Value":           {"a changed value is drift", `{kind: A, spec: {x: 2}}`, `{kind: A, spec: {x: 1}}`, []string{"spec.x: 2 → 1"}, ""},
		"Removed":         {"a removed value is drift", `{kind: A, spec: {}}`, `{kind: A, spec: {x: 1}}`, []string{"spec.x: – → 1"}, ""},
		"Default":         {"fields of API servers are ignored", `{kind: A, spec: {x: 1, y: {z: 2}}, status: {a: b}, metadata: {uid: a}}`, `{kind: A, spec: {x: 1}}`, nil, ""},
		"Empty":           {"API servers omit empty values", `{kind: A, spec: {}}`, `{kind: A, spec: {a: {}, b: [], c: "", d: false, e: 0}}`, nil, ""},
		"Quantity":        {"quantities have a canonical form", `{kind: A, spec: {m: 1Gi, c: "1"}}`, `{kind: A, spec: {m: 1024Mi, c: 1000m}}`, nil, ""},
		"OtherQuantity":   {"other quantities are drift", `{kind: A, spec: {m: 2Gi}}`, `{kind: A, spec: {m: 1Gi}}`, []string{"spec.m: 2Gi → 1Gi"}, ""},
		"Duration":        {"durations have a canonical form", `{kind: A, spec: {t: 2160h0m0s}}`, `{kind: A, spec: {t: 2160h}}`, nil, ""},
		"NamedItems":      {"items are compared by name, and others belong to webhooks", `{kind: A, c: [{name: proxy}, {name: a, image: old}]}`, `{kind: A, c: [{name: a, image: x}]}`, []string{"c[name=a].image: old → x"}, ""},
		"MissingItem":     {"a removed item is drift", `{kind: A, c: [{name: b}]}`, `{kind: A, c: [{name: a}, {name: b}]}`, []string{`c[name=a].name: – → a`}, ""},
		"Items":           {"items without a name are compared by position", `{kind: A, l: [{p: 1, d: x}, {p: 3}]}`, `{kind: A, l: [{p: 1}, {p: 2}]}`, []string{"l[1].p: 3 → 2"}, ""},
		"NumberOfItems":   {"a list of another length is drift", `{kind: A, l: [1]}`, `{kind: A, l: [1, 2]}`, []string{"l: [1] → [1,2]"}, ""},
		"Option":          {"options of files are compared", "{kind: A, data: {f: \"[a]\\nx = 2\\n\"}}", "{kind: A, data: {f: \"[a]\\nx = 1\\n\"}}", []string{"data.f[a].x: 2 → 1"}, ""},
		"Password":        {"secret values are hidden", `{kind: A, spec: {password: "1"}}`, `{kind: A, spec: {password: "2"}}`, []string{"spec.password: (hidden) → (hidden)"}, ""},
		"ItemOfPasswords": {"items of a secret list are hidden", `{kind: A, spec: {tokens: ["1"]}}`, `{kind: A, spec: {tokens: ["2"]}}`, []string{"spec.tokens[0]: (hidden) → (hidden)"}, ""},
		"Argument":        {"passwords in arguments are hidden", `{kind: A, args: ["--password=old x"]}`, `{kind: A, args: ["--password=new y"]}`, []string{"args[0]: --password=(hidden) x → --password=(hidden) y"}, ""},
		"OptionPass":      {"passwords of RabbitMQ are hidden", "{kind: A, data: {f: \"default_pass = 1\\nx = 1\\n\"}}", "{kind: A, data: {f: \"default_pass = 2\\nx = 1\\n\"}}", []string{"data.f.default_pass: (hidden) → (hidden)"}, ""},
		"URL":             {"a password in a URL is hidden up to the last @", `{kind: A, u: "amqp://a:p@ss@host/x"}`, `{kind: A, u: "amqp://a:b@host/x"}`, []string{"u: amqp://a:(hidden)@host/x → amqp://a:(hidden)@host/x"}, ""},
		"Secret":          {"a Secret is hidden", `{kind: Secret, data: {k: a}}`, `{kind: Secret, data: {k: b}}`, []string{"data.k: (hidden) → (hidden)"}, ""},
		"Hash":            {"the hash shows differences that fields do not", `{kind: A, metadata: {annotations: {crossplane.c5c3.io/hash: "1"}}}`, `{kind: A, metadata: {annotations: {crossplane.c5c3.io/hash: "2"}}}`, nil, reasonComposed},
		"HashWithoutDiff": {"the hash is no field", `{kind: A, x: 1, metadata: {annotations: {crossplane.c5c3.io/hash: "1"}}}`, `{kind: A, x: 2, metadata: {annotations: {crossplane.c5c3.io/hash: "2"}}}`, []string{"x: 1 → 2"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, found := Compare("owner", parse(t, tc.existing), parse(t, tc.composed))
			var got []string
			for _, f := range d.Fields {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || d.Reason != tc.wantReason || found != (tc.want != nil || tc.wantReason != "") {
				t.Errorf("%s: reason %q, drift %t; fields, -want, +got:\n%s", tc.reason, d.Reason, found, diff)
			}
		})
	}
}

// TestCompareDetectsDriftInsideObjects checks the drift of objects inside of Objects of provider-kubernetes.
func TestCompareDetectsDriftInsideObjects(t *testing.T) {
	inside := parse(t, `{kind: A, metadata: {name: a, namespace: ns}, spec: {x: 1}}`)
	object := wrapper.Wrapper{Name: "o", ProviderConfig: "remote", Desired: inside}
	composed := object.Struct()
	object.Observe = true
	cases := map[string]struct {
		reason             string
		existing, composed encoded.Struct
		want               Drift
		found              bool
	}{
		"Equal":    {"the object inside is as composed", wrapper.WithObserved(composed, inside), composed, Drift{}, false},
		"Missing":  {"the provider has not created the object", composed, composed, Drift{Action: ActionCreate, Reason: reasonMissing}, true},
		"Observed": {"an object that is only observed has no desired state", composed, object.Struct(), Drift{}, false},
		"Changed": {
			"the object inside has changed", wrapper.WithObserved(composed, parse(t, `{kind: A, metadata: {name: a, namespace: ns}, spec: {x: 2}}`)), composed,
			Drift{Action: ActionChange, Fields: []Field{{Path: "spec.x", Old: new("2"), New: new("1")}}}, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := Compare("owner", tc.existing, tc.composed)
			if found != tc.found {
				t.Fatalf("%s: drift %t, want %t: %+v", tc.reason, found, tc.found, got)
			}
			if !found {
				return
			}
			tc.want.Kind, tc.want.Namespace, tc.want.Name, tc.want.Cluster, tc.want.Owner = "A", "ns", "a", "remote", "owner"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDriftIsBounded checks that every format has a limited number of objects and fields, and the number of the others.
func TestDriftIsBounded(t *testing.T) {
	p := &Plan{}
	for i := range maxDrift + 7 {
		d := Drift{Action: ActionChange, Kind: "A", Name: fmt.Sprint("object-", i)}
		for j := range maxDriftFields + 3 {
			d.Fields = append(d.Fields, Field{Path: fmt.Sprint("field-", j)})
		}
		p.Drift = append(p.Drift, d)
	}
	for _, format := range Formats {
		var out strings.Builder
		if err := p.Print(&out, format, false); err != nil {
			t.Fatal(err)
		}
		for _, unwanted := range []string{"object-50", "field-10"} {
			if strings.Contains(out.String(), unwanted) {
				t.Errorf("%s contains %s", format, unwanted)
			}
		}
		others := []string{"57 objects differ", "and 7 other objects", "and 3 other fields"}
		if format == "json" {
			others = []string{`"total": 57`}
		}
		for _, want := range others {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s does not contain %q", format, want)
			}
		}
	}
}

func parse(t *testing.T, text string) encoded.Struct {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	out, err := encode.Struct(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
