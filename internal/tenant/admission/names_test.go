package admission

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNames checks that the names match the chart.
func TestNames(t *testing.T) {
	var chart strings.Builder
	for _, file := range []string{"admission.yaml", "admission-instances.yaml"} {
		data, err := os.ReadFile("../../../package/chart/templates/" + file)
		if err != nil {
			t.Fatal(err)
		}
		chart.Write(data)
	}
	var got []string
	for _, m := range regexp.MustCompile(`"cobaltcore.policyMetadata" \(list . "([a-z-]+)"`).FindAllStringSubmatch(chart.String(), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if diff := cmp.Diff(Names, got); diff != "" {
		t.Errorf("(-here +chart):\n%s", diff)
	}
}

// TestRequirements checks that a preview assumes the same objects that an API server would return.
func TestRequirements(t *testing.T) {
	r := Requirements()
	for requirement, want := range map[string]map[string]any{
		PolicyRequirement: {"kind": "ValidatingAdmissionPolicy", "spec": map[string]any{"failurePolicy": "Fail"}},
		BindingRequirement: {
			"kind": "ValidatingAdmissionPolicyBinding", "spec": map[string]any{"policyName": "cobaltcore-claims", "validationActions": []any{"Deny"}},
		},
	} {
		got := r[requirement][0].AsMap()
		want["apiVersion"] = "admissionregistration.k8s.io/v1"
		want["metadata"] = map[string]any{
			"name": "cobaltcore-claims", "labels": map[string]any{"app.kubernetes.io/part-of": "cobaltcore"},
			"annotations": got["metadata"].(map[string]any)["annotations"],
		}
		if diff := cmp.Diff(want, got); diff != "" || len(r[requirement]) != len(Names) {
			t.Errorf("%s, %d of them (-want +got):\n%s", requirement, len(r[requirement]), diff)
		}
	}
}
