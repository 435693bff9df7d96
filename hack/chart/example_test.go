package main

import (
	"bufio"
	"bytes"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

var update = flag.Bool("update", false, "write the example of the admission policies")

// TestAdmissionExampleEqualsChart checks that the example for rendering without a cluster equals the policies of the chart.
func TestAdmissionExampleEqualsChart(t *testing.T) {
	objects := rendered(t, domain)
	var want bytes.Buffer
	want.WriteString("# The admission policies as the chart installs them by default, for `crossplane render` (docs/ci.md).\n" +
		"# Made of the chart: HELM=… go test ./hack/chart -run TestAdmissionExampleEqualsChart -update\n")
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if strings.HasPrefix(key, "ValidatingAdmissionPolicy") {
			data, err := yaml.Marshal(objects[key])
			if err != nil {
				t.Fatal(err)
			}
			want.WriteString("---\n")
			want.Write(data)
		}
	}
	const file = "../../examples/platform/admission.yaml"
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("the example differs from the chart; run with -update (-chart, +example):\n%s", diff)
	}
}

// TestFunctionAcceptsPoliciesOfChart checks that the function accepts the policies of the chart.
func TestFunctionAcceptsPoliciesOfChart(t *testing.T) {
	required := map[string][]*structpb.Struct{}
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(examples.Admission))); ; {
		doc, err := r.Read()
		if err != nil {
			break
		}
		o := map[string]any{}
		if err := yaml.Unmarshal(doc, &o); err != nil {
			t.Fatal(err)
		}
		if o["kind"] == nil {
			continue
		}
		s, err := structpb.NewStruct(o)
		if err != nil {
			t.Fatal(err)
		}
		name := admission.PolicyRequirement
		if o["kind"] == "ValidatingAdmissionPolicyBinding" {
			name = admission.BindingRequirement
		}
		required[name] = append(required[name], s)
	}
	if err := admission.Check(required); err != nil {
		t.Error(err)
	}
	if got := len(required[admission.PolicyRequirement]); got != len(admission.Names) {
		t.Errorf("the chart has %d policies, the function looks for %d", got, len(admission.Names))
	}
}
