package crds_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	source "github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// TestSamplesMatchPinnedCRDs validates the fields that the project uses with the pinned CRDs.
func TestSamplesMatchPinnedCRDs(t *testing.T) {
	set := crds.Load(t)
	for name, obj := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // so that the race detector sees the shared validators
			if errs := set.Validate(obj); len(errs) > 0 {
				t.Errorf("Validate(...): want no errors, got %v", errs.ToAggregate())
			}
		})
	}
}

// TestMutatedSamplesAreRejected changes a sample and expects the error of an API server, or of one of this package's checks.
func TestMutatedSamplesAreRejected(t *testing.T) {
	cases := map[string]struct {
		reason string
		sample string
		patch  string
		want   []string
	}{
		"UnknownField": {
			reason: "A misspelt field of a third party is found.",
			sample: "mariadb/MariaDB/db",
			patch:  "spec: {replica: 3}",
			want:   []string{"spec.replica: Forbidden: unknown field"},
		},
		"WrongType": {
			reason: "A number is no string.",
			sample: "mariadb/MariaDB/db",
			patch:  `spec: {replicas: "3"}`,
			want:   []string{`spec.replicas: Invalid value: "string": must be of type integer: "string"`},
		},
		"Enum": {
			reason: "Only the values of the CRD.",
			sample: "mariadb/Database/keystone",
			patch:  "spec: {cleanupPolicy: Keep}",
			want:   []string{`spec.cleanupPolicy: Unsupported value: "Keep": supported values: "Skip", "Delete"`},
		},
		"Required": {
			reason: "A required field.",
			sample: "rabbitmq/Permission/nova",
			patch:  "spec: {permissions: null}",
			want:   []string{"spec.permissions: Required value"},
		},
		"RuleAcrossFields": {
			reason: "A CEL rule of K-ORC: an import is not managed.",
			sample: "korc/Role/admin",
			patch:  "spec: {managementPolicy: managed}",
			want: []string{
				"spec: Invalid value: import may not be specified when policy is managed",
				"spec: Invalid value: resource must be specified when policy is managed",
			},
		},
		"IDFormat": {
			reason: "K-ORC imports by UUID; the domain id default is none.",
			sample: "korc/Domain/default",
			patch:  "spec: {import: {filter: null, id: default}}",
			want:   []string{`spec.import.id: Invalid value: "default": must be of type uuid: "default"`},
		},
		"RegionOfEndpoint": {
			reason: "K-ORC's endpoints have no region.",
			sample: "korc/Endpoint/nova-public",
			patch:  "spec: {resource: {region: r}}",
			want:   []string{"spec.resource.region: Forbidden: unknown field"},
		},
		"OldVersion": {
			reason: "A version that the CRD does not serve is refused.",
			sample: "secrets/ExternalSecret/k",
			patch:  "apiVersion: external-secrets.io/v9",
			want:   []string{`apiVersion: Invalid value: "external-secrets.io/v9": cannot validate externalsecrets.external-secrets.io: its CRD does not serve version "v9"`},
		},
		"UnknownKind": {
			reason: "An unknown kind is invalid.",
			sample: "secrets/ExternalSecret/k",
			patch:  "kind: InternalSecret",
			want:   []string{`kind: Invalid value: "InternalSecret": no kind "InternalSecret" of apiVersion "external-secrets.io/v1": add its CRD to the set, or its module to hack/crds/modules.txt`},
		},
		"ServerOwned": {
			reason: "Clients must not set fields of the server, not even to empty values.",
			sample: "rook/CephClient/cinder",
			patch:  "{metadata: {generation: 0, managedFields: []}, status: {phase: Ready}}",
			want: []string{
				"metadata.generation: Forbidden: only the API server writes it",
				"metadata.managedFields: Forbidden: only the API server writes it",
				"status: Forbidden: only controllers write it",
			},
		},
		"Manifest": {
			reason: "The manifest in an Object is checked as in its cluster.",
			sample: "crossplane/Object/ns",
			patch:  "spec: {forProvider: {manifest: {metadata: {name: Upper}, spec: {x: 1}}}}",
			want: []string{
				`spec.forProvider.manifest.metadata.name: Invalid value: "Upper": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
				"spec.forProvider.manifest.spec.x: Forbidden: unknown field",
			},
		},
		"PropagationPolicy": {
			reason: "An empty deletion propagation policy, as typed structs emit it, is refused.",
			sample: "crossplane/Object/ns",
			patch:  `spec: {forProvider: {deletionPropagationPolicy: ""}}`,
			want:   []string{`spec.forProvider.deletionPropagationPolicy: Unsupported value: "": supported values: "Orphan", "Background", "Foreground"`},
		},
	}
	set, all := crds.Load(t), samples(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sample := all[tc.sample]
			if sample == nil {
				t.Fatalf("there is no sample %s", tc.sample)
			}
			if diff := cmp.Diff(tc.want, sentences(set.Validate(merge(sample, parse(t, tc.patch))))); diff != "" {
				t.Errorf("%s\nValidate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEveryCRDCompiles compiles all cached CRDs, so that no kind fails only when it is first emitted.
func TestEveryCRDCompiles(t *testing.T) {
	dir, err := source.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 150 {
		t.Fatalf("want at least 150 CRDs in %s, got %d: %v", dir, len(files), err)
	}
	set := crds.Load(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := json.Unmarshal(data, crd); err != nil {
				t.Fatal(err)
			}
			for _, v := range crd.Spec.Versions {
				apiVersion := crd.Spec.Group + "/" + v.Name
				if got := set.Has(apiVersion, crd.Spec.Names.Kind); got != v.Served {
					t.Errorf("Has(%s): want %t, got %t", apiVersion, v.Served, got)
				}
				if _, err := set.Validator(apiVersion, crd.Spec.Names.Kind); (err == nil) != v.Served {
					t.Errorf("Validator(%s): served is %t, but got %v", apiVersion, v.Served, err)
				}
			}
		})
	}
}

func TestHas(t *testing.T) {
	set := crds.Load(t)
	for kind, want := range map[[2]string]bool{
		{"v1", "ConfigMap"}:                       true,
		{"apps/v1", "Deployment"}:                 true,
		{"apps/v1beta1", "Deployment"}:            false,
		{"k8s.mariadb.com/v1alpha1", "MariaDB"}:   true,
		{"k8s.mariadb.com/v1", "MariaDB"}:         false,
		{"test.example.org/v1", "Thing"}:          false,
		{"../../../etc/passwd/v1", "../../Thing"}: false,
	} {
		if got := set.Has(kind[0], kind[1]); got != want {
			t.Errorf("Has(%s, %s): want %t, got %t", kind[0], kind[1], want, got)
		}
	}
}

// TestAdd checks that kinds added to a set do not affect other sets, and that they can be replaced.
func TestAdd(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	doc, err := yaml.Marshal(samples(t)["kubernetes/CustomResourceDefinition/things.test.example.org"])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(doc, &crd); err != nil {
		t.Fatal(err)
	}
	set, other := crds.Load(t), crds.Load(t)
	set.Add(&crd)
	sample := parse(t, "{apiVersion: test.example.org/v1, kind: Thing, metadata: {name: t}, spec: {}}")
	if errs := set.Validate(sample); len(errs) > 0 {
		t.Errorf("Validate of an added kind: want no errors, got %v", errs)
	}
	if other.Has("test.example.org/v1", "Thing") {
		t.Error("Has(Thing): want a kind to be known only to the set that it was added to")
	}

	replaced := crd.DeepCopy()
	replaced.Spec.Versions[0].Schema.OpenAPIV3Schema.Required = []string{"more"}
	set.Add(replaced)
	if diff := cmp.Diff([]string{"more: Required value"}, sentences(set.Validate(sample))); diff != "" {
		t.Errorf("Validate of a replaced kind: -want, +got:\n%s", diff)
	}
}

func TestValidateRejectsMalformedObjects(t *testing.T) {
	set := crds.Load(t)
	for name, obj := range map[string]map[string]any{
		"nil":         nil,
		"empty":       {},
		"list":        {"apiVersion": "v1", "kind": "ConfigMapList"},
		"options":     {"apiVersion": "v1", "kind": "DeleteOptions"},
		"odd types":   {"apiVersion": 1, "kind": []any{}},
		"odd content": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": "m", "spec": []any{1}},
		"no spec":     {"apiVersion": "apps/v1", "kind": "StatefulSet"},
		"channel":     {"apiVersion": "v1", "kind": "ConfigMap", "data": make(chan int)},
		"odd wrapped": {"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "spec": map[string]any{"forProvider": 1, "managementPolicies": 2}},
	} {
		if errs := set.Validate(obj); len(errs) == 0 {
			t.Errorf("Validate of %s: want errors", name)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	set := crds.Load(b)
	for name, obj := range samples(b) {
		if !strings.HasSuffix(name, "MariaDB/db") && !strings.HasSuffix(name, "Deployment/keystone") && !strings.HasSuffix(name, "Endpoint/nova-public") {
			continue
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if errs := set.Validate(obj); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

func sentences(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// samples returns the valid objects of testdata, by file, kind and name.
func samples(tb testing.TB) map[string]map[string]any {
	tb.Helper()
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil || len(files) == 0 {
		tb.Fatalf("cannot find samples: %v", err)
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				tb.Fatal(err)
			}
			obj := parse(tb, string(doc))
			meta, _ := obj["metadata"].(map[string]any)
			key := strings.TrimSuffix(filepath.Base(file), ".yaml") + "/" + obj["kind"].(string) + "/" + meta["name"].(string)
			if all[key] != nil {
				tb.Fatalf("two samples are called %s", key)
			}
			all[key] = obj
		}
	}
	return all
}

func parse(tb testing.TB, doc string) map[string]any {
	tb.Helper()
	var obj map[string]any
	if err := yaml.UnmarshalStrict([]byte(doc), &obj); err != nil {
		tb.Fatal(err)
	}
	return obj
}

// merge applies a JSON merge patch (RFC 7386).
func merge(obj, patch map[string]any) map[string]any {
	out := maps.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		below, ok := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case ok:
			previous, _ := out[key].(map[string]any)
			out[key] = merge(previous, below)
		default:
			out[key] = value
		}
	}
	return out
}
