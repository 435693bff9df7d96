package preview

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

const (
	claim    = `{apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, metadata: {namespace: a, name: b}, spec: {openStackRelease: "2025.2"}}`
	platform = `{apiVersion: crossplane.c5c3.io/v1alpha1, kind: PlatformConfig, metadata: {name: default}, spec: {domain: example.com}}`
)

// model is the composite resource as the toy function reads it.
type model struct {
	Spec map[string]any `json:"spec"`
	// providerConfig of the platform.
	providerConfig string
}

// toy is a function that composes a ConfigMap and then a Namespace, which it retains. The error is its answer to everything.
func toy(response error) map[string]function.Runner {
	return toyThat(func(map[string]any) error { return response })
}

// toyThat is toy with an answer to each spec.
func toyThat(response func(spec map[string]any) error) map[string]function.Runner {
	object := func(kind, name, namespace string) metav1.Object {
		meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
		if kind == "Namespace" {
			return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: meta}
		}
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: meta}
	}
	return map[string]function.Runner{controlplanev1.CompositeGroupVersionKind.GroupKind().String(): function.Kind[model, *model]{
		Rules: readiness.Rules,
		Graph: compose.Graph[*model]{
			{Name: "first", Build: func(m *model) ([]compose.Stage, error) {
				c := object("ConfigMap", "c", m.providerConfig).(*corev1.ConfigMap)
				text, err := json.Marshal(m.Spec)
				c.Data = map[string]string{"spec": string(text)}
				return []compose.Stage{{{Name: "config", Object: c}}}, err
			}},
			{Name: "second", Needs: []string{"first"}, Build: func(*model) ([]compose.Stage, error) {
				return []compose.Stage{{{Name: "space", Object: object("Namespace", "d", "").(*corev1.Namespace), Retain: true}}}, nil
			}},
		},
		Derive: func(in function.Input[model]) (*model, error) {
			m := in.XR
			m.providerConfig = in.Required["platform"][0].AsMap()["spec"].(map[string]any)["providerConfig"].(string)
			return &m, response(m.Spec)
		},
		Target: func(*model) respond.Target { return respond.Target{Prefix: "b", Management: "here", Workload: "here"} },
		Status: func(*model, compose.Plan) any { return map[string]any{"instance": "a-b"} },
	}}
}

// TestRun tests that the claim is converted to a composite resource, on the platform with its defaults, and that the composed objects are
// reported stage by stage.
func TestRun(t *testing.T) {
	r, err := Run([]byte(claim), []byte(platform), toy(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := &Result{
		Kind: "ControlPlaneCluster", Namespace: "a", Name: "b", Instance: "a-b", Stages: 2,
		Status:     map[string]any{"instance": "a-b", "deletionPolicy": "Retain"},
		Components: []Component{{Owner: "b", Name: "first"}, {Owner: "b", Name: "second", After: []string{"first"}}},
		Objects: []Object{
			{Stage: 1, Component: "first", Owner: "b", Resource: "config", APIVersion: "v1", Kind: "ConfigMap", Name: "c", Namespace: "in-cluster"},
			{Stage: 2, Component: "second", Owner: "b", Resource: "space", APIVersion: "v1", Kind: "Namespace", Name: "d", Cluster: "here", Wrapped: true, Retained: true},
		},
	}
	conditions := cmpopts.IgnoreMapEntries(func(field string, _ any) bool { return field == "conditions" })
	internal := cmpopts.IgnoreUnexported(Result{}, Object{})
	if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(Object{}, "Manifest"), cmpopts.IgnoreFields(Result{}, "Existing"), internal, conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if claim, xr := r.Existing[0].AsMap(), r.Existing[1].AsMap(); claim["spec"].(map[string]any)["resourceRef"].(map[string]any)["name"] != "b" ||
		xr["spec"].(map[string]any)["claimRef"].(map[string]any)["name"] != "b" || xr["status"] == nil {
		t.Errorf("the claim and its composite resource are not bound: %v, %v", claim, xr)
	}

	spec := map[string]any{}
	if err := json.Unmarshal([]byte(r.Objects[0].Manifest.AsMap()["data"].(map[string]any)["spec"].(string)), &spec); err != nil {
		t.Fatal(err)
	}
	ref := map[string]any{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "ControlPlaneCluster", "namespace": "a", "name": "b"}
	if diff := cmp.Diff(ref, spec["claimRef"]); diff != "" {
		t.Errorf("claimRef (-want +got):\n%s", diff)
	}
	if spec["size"] != "small" || spec["compositeDeletePolicy"] != nil {
		t.Errorf("the composite resource's spec is %v", spec)
	}
}

// TestSeparatesTenantErrorsFromBugs tests that errors of tenants are returned as ValidationErrors with one sentence each, and other errors
// as bugs.
func TestSeparatesTenantErrorsFromBugs(t *testing.T) {
	one := invalid.Field("spec.size", "it is too small")
	two := errors.Join(one, invalid.Field("spec.global.domain", "it is\nelsewhere"))
	for name, tc := range map[string]struct {
		reason string
		answer error
		want   string
		bug    bool
	}{
		"one":  {"One mistake, one sentence.", one, "ControlPlaneCluster b: spec.size: it is too small", false},
		"two":  {"Each stays on its line.", two, "ControlPlaneCluster b: spec.size: it is too small\n" + `ControlPlaneCluster b: spec.global.domain: it is\nelsewhere`, false},
		"ours": {"The command failed.", errors.New("no luck"), "cannot preview ControlPlaneCluster b: no luck", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run([]byte(claim), []byte(platform), toy(tc.answer))
			rejected := (*ValidationErrors)(nil)
			if errors.As(err, &rejected) {
				for _, m := range rejected.List() {
					if m.Line != 1 { // The claim is a line.
						t.Errorf("%s\n%s is in line %d", tc.reason, m.Message, m.Line)
					}
				}
			}
			if err == nil || err.Error() != tc.want || errors.As(err, &rejected) == tc.bug {
				t.Errorf("%s\nerror %q, a refusal: %t; want %q", tc.reason, err, rejected != nil, tc.want)
			}
		})
	}
}

// TestSecrets tests that only Secrets that composed objects read from other namespaces are required.
func TestSecrets(t *testing.T) {
	read := func(name, kind, store string, keys ...string) Object {
		var data []any
		for _, k := range keys {
			data = append(data, map[string]any{"remoteRef": map[string]any{"key": name, "property": k}})
		}
		return manifested(t, "ExternalSecret", "c", "copy-"+name, map[string]any{"secretStoreRef": map[string]any{"kind": kind, "name": store}, "data": data})
	}
	r := &Result{Objects: []Object{
		manifested(t, "SecretStore", "c", "tenant", map[string]any{"provider": map[string]any{"kubernetes": map[string]any{"remoteNamespace": "a"}}}),
		read("s3", "SecretStore", "tenant", "id", "key"), read("ldap", "SecretStore", "tenant", "password"), read("s3", "SecretStore", "tenant", "key", "ca.crt"),
		read("pushed", "ClusterSecretStore", "tenant", "id"), read("else", "SecretStore", "other", "id"),
		manifested(t, "KeystoneService", "a", "quotas", nil), read("quotas-keystone", "SecretStore", "tenant", "OS_PASSWORD"),
		manifested(t, "ExternalSecret", "c", "generated", map[string]any{"dataFrom": []any{map[string]any{"sourceRef": map[string]any{}}}}),
	}}
	var got []string
	for _, s := range r.secrets() {
		got = append(got, s.String())
	}
	want := []string{"needs Secret s3 with keys id, key, ca.crt in namespace a", "needs Secret ldap with key password in namespace a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func manifested(t *testing.T, kind, namespace, name string, spec map[string]any) Object {
	t.Helper()
	m, err := structpb.NewStruct(map[string]any{"kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return Object{Kind: kind, Namespace: namespace, Name: name, Manifest: m}
}

// TestUntil tests that the original result is not changed.
func TestUntil(t *testing.T) {
	r, err := Run([]byte(claim), []byte(platform), toy(nil))
	if err != nil {
		t.Fatal(err)
	}
	if r.Until(0) != r {
		t.Error("no stage is every stage")
	}
	if first := r.Until(1); len(first.Objects) != 1 || first.Stages != 1 || len(r.Objects) != 2 || r.Stages != 2 {
		t.Errorf("%d objects in %d stages of %d in %d", len(first.Objects), first.Stages, len(r.Objects), r.Stages)
	}
	if all := r.Until(99); len(all.Objects) != 2 || all.Stages != 2 {
		t.Errorf("%d objects in %d stages", len(all.Objects), all.Stages)
	}
}

// TestPrint tests that each format contains all objects, and returns errors of the writer.
func TestPrint(t *testing.T) {
	r, err := Run([]byte(claim), []byte(platform), toy(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats {
		var out bytes.Buffer
		if err := r.Print(&out, format); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "second") || strings.Count(out.String(), "\n") < 4 {
			t.Errorf("%s:\n%s", format, out.String())
		}
		if err := r.Print(broken{}, format); err == nil {
			t.Errorf("%s: a full disk is no error", format)
		}
	}
	var tree bytes.Buffer
	if err := r.Print(&tree, "tree"); err != nil {
		t.Fatal(err)
	}
	want := `ControlPlaneCluster a/b → namespace a-b
├─ 01 first    1  ConfigMap c
└─ 02 second   1  Namespace d†
2 objects in 2 stages; 1 retained when the claim is deleted (†), 1 composed as Objects
`
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// FuzzRead tests that no document causes a panic, and that every error is one line.
func FuzzRead(f *testing.F) {
	f.Add(claim)
	f.Add(platform)
	f.Add("{kind: PlatformConfig, metadata: {name: default}}")
	f.Add("a: &a [*a]\n---\n? {b: c}\n: \x00")
	f.Add(`{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "ControlPlaneCluster", "metadata": {"namespace": [], "name": 1}}`)
	f.Add(`{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "ControlPlaneCluster", "metadata": null, "spec": {"openStackRelease": 1e999}}`)
	kinds := toy(nil)
	f.Fuzz(func(t *testing.T, doc string) {
		for _, read := range []func() (map[string]any, error){
			func() (map[string]any, error) { return readClaim([]byte(doc), kinds) },
			func() (map[string]any, error) { return readPlatform([]byte(doc)) },
		} {
			_, err := read()
			rejected := (*ValidationErrors)(nil)
			switch {
			case err == nil:
			case !errors.As(err, &rejected):
				t.Errorf("not a refusal: %v", err)
			case strings.Count(err.Error(), "\n") != len(rejected.Sentences)-1 || strings.ContainsAny(err.Error(), "\x00\x1b\r"):
				t.Errorf("%d sentences: %q", len(rejected.Sentences), err)
			}
		}
	})
}
