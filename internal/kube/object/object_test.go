package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

func TestNew(t *testing.T) {
	meta := Meta{Name: "a", Namespace: "b", Labels: map[string]string{"c": "d"}, Annotations: map[string]string{"e": "f"}}
	for name, tc := range map[string]struct {
		reason string
		meta   Meta
		spec   Map
		want   Map
	}{
		"all": {
			"Everything that is given stands there.", meta, Map{"g": int64(1)},
			Map{"apiVersion": "v1", "kind": "K", "spec": Map{"g": int64(1)}, "metadata": Map{
				"name": "a", "namespace": "b", "labels": Map{"c": "d"}, "annotations": Map{"e": "f"},
			}},
		},
		"least":      {"Missing values are omitted, not empty.", Meta{Name: "a"}, nil, Map{"apiVersion": "v1", "kind": "K", "metadata": Map{"name": "a"}}},
		"empty spec": {"An empty spec is one.", Meta{Name: "a"}, Map{}, Map{"apiVersion": "v1", "kind": "K", "metadata": Map{"name": "a"}, "spec": Map{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, New("v1", "K", tc.meta, tc.spec).Object); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOmitsEmptyOptionalValues tests that empty values are omitted, except meaningful ones: false, zero, and a non-nil empty list or
// object.
func TestOmitsEmptyOptionalValues(t *testing.T) {
	got := WithOptional(Map{"given": ""}, Map{
		"nil": nil, "map": Map(nil), "list": List(nil), "text": "",
		"false": false, "zero": int64(0), "empty map": Map{}, "empty list": List{}, "a": "b",
	})
	want := Map{"given": "", "false": false, "zero": int64(0), "empty map": Map{}, "empty list": List{}, "a": "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArray(t *testing.T) {
	if diff := cmp.Diff(List{"b", "a"}, Array(common.ObjectName("b"), "a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Array[string](); got == nil || len(got) > 0 {
		t.Errorf("an array without elements: %#v, want a non-nil empty one", got)
	}
}

func TestResources(t *testing.T) {
	q := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	for name, tc := range map[string]struct {
		in   *common.Resources
		want Map
	}{
		"none":  {nil, nil},
		"empty": {&common.Resources{}, Map{}},
		"all": {
			&common.Resources{
				Requests: &common.ResourceAmounts{CPU: q("1500m"), Memory: q("1024Mi"), EphemeralStorage: q("1G")},
				Limits:   &common.ResourceAmounts{Memory: q("2Gi")},
			},
			Map{"requests": Map{"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1G"}, "limits": Map{"memory": "2Gi"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Resources(tc.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlacementHasOnlySetFields(t *testing.T) {
	got := Tolerations([]common.Toleration{
		{Operator: "Exists"},
		{Key: "a", Operator: "Equal", Value: "b", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](0)},
	})
	want := List{
		Map{"operator": "Exists"},
		Map{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": int64(0)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if got := Tolerations(nil); got != nil {
		t.Errorf("tolerations of none: %v", got)
	}
	if diff := cmp.Diff(Map{"a": "", "b": "c"}, NodeSelector(map[string]common.LabelValue{"a": "", "b": "c"})); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	if got := NodeSelector(map[string]common.LabelValue{}); got != nil {
		t.Errorf("node selector of none: %v", got)
	}
}
