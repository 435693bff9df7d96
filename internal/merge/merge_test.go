package merge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
)

func TestMergesStructsFieldByField(t *testing.T) {
	yes, no := new(true), new(false)
	for name, tc := range map[string]struct {
		reason            string
		over, under, want common.Exposure
	}{
		"Nothing": {
			reason: "Unset fields are taken from under.", under: common.Exposure{Type: "Ingress", Gateway: &common.Gateway{Name: "a"}},
			want: common.Exposure{Type: "Ingress", Gateway: &common.Gateway{Name: "a"}},
		},
		"Block": {
			reason: "A struct is merged field by field.",
			over:   common.Exposure{Gateway: &common.Gateway{Name: "b"}},
			under:  common.Exposure{Type: "GatewayAPI", Gateway: &common.Gateway{Name: "a", SectionName: "https"}},
			want:   common.Exposure{Type: "GatewayAPI", Gateway: &common.Gateway{Name: "b", SectionName: "https"}},
		},
		"New": {
			reason: "One that only the upper has.", over: common.Exposure{Gateway: &common.Gateway{Name: "b"}},
			want: common.Exposure{Gateway: &common.Gateway{Name: "b"}},
		},
		"Map": {
			reason: "A map is merged key by key.",
			over:   common.Exposure{Annotations: map[string]common.AnnotationValue{"a": "1", "b": ""}},
			under:  common.Exposure{Annotations: map[string]common.AnnotationValue{"b": "2", "c": "3"}},
			want:   common.Exposure{Annotations: map[string]common.AnnotationValue{"a": "1", "b": "", "c": "3"}},
		},
		"List": {
			reason: "A list is replaced as a whole.",
			over:   common.Exposure{AllowedNamespaces: []common.NamespaceName{"a"}}, under: common.Exposure{AllowedNamespaces: []common.NamespaceName{"b", "c"}},
			want: common.Exposure{AllowedNamespaces: []common.NamespaceName{"a"}},
		},
		"EmptyList": {
			reason: "An empty list is unset: otherwise it would remove a restriction.",
			over:   common.Exposure{AllowedNamespaces: []common.NamespaceName{}}, under: common.Exposure{AllowedNamespaces: []common.NamespaceName{"b"}},
			want: common.Exposure{AllowedNamespaces: []common.NamespaceName{"b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, merge.Overlay(tc.over, tc.under)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := merge.Overlay(&common.TLS{Enabled: no}, &common.TLS{Enabled: yes}); *got.Enabled {
		t.Error("a pointer to false is unset")
	}
	if got := merge.Overlay(nil, &common.TLS{Enabled: yes}); got == nil || !*got.Enabled {
		t.Errorf("nothing over a block: %v", got)
	}
}

// TestOverlayReplacesWholeQuantities tests that a quantity is one value, in any format.
func TestOverlayReplacesWholeQuantities(t *testing.T) {
	q := func(s string) *resource.Quantity { v := resource.MustParse(s); return &v }
	got := merge.Overlay(
		&common.Resources{Requests: &common.ResourceAmounts{CPU: q("4")}},
		&common.Resources{Requests: &common.ResourceAmounts{CPU: q("500m"), Memory: q("1Gi")}, Limits: &common.ResourceAmounts{Memory: q("2Gi")}})
	want := &common.Resources{Requests: &common.ResourceAmounts{CPU: q("4"), Memory: q("1Gi")}, Limits: &common.ResourceAmounts{Memory: q("2Gi")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOverlayIsIdempotent tests that an empty value on either side is neutral, and that merging is idempotent.
func TestOverlayIsIdempotent(t *testing.T) {
	texts, flags := rapid.SampledFrom([]string{"", "a", "b"}), rapid.SampledFrom([]*bool{nil, new(true), new(false)})
	draw := rapid.Custom(func(t *rapid.T) common.Exposure {
		e := common.Exposure{Type: texts.Draw(t, "type"), Annotations: map[string]common.AnnotationValue{}}
		for _, k := range rapid.SliceOfN(texts, 0, 3).Draw(t, "keys") {
			e.Annotations[k] = common.AnnotationValue(texts.Draw(t, "value"))
		}
		if b := flags.Draw(t, "gateway"); b != nil {
			e.Gateway = &common.Gateway{Name: common.ObjectName(texts.Draw(t, "name"))}
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "over"), draw.Draw(t, "under")
		before := []common.Exposure{*a.DeepCopy(), *b.DeepCopy()}
		merged := merge.Overlay(a, b)
		if next := merge.Overlay(a, merged); !cmp.Equal(next, merged) {
			t.Errorf("laid again:\n%s", cmp.Diff(merged, next))
		}
		if got := merge.Overlay(common.Exposure{}, b); !cmp.Equal(got, b) {
			t.Errorf("nothing over something:\n%s", cmp.Diff(b, got))
		}
		if got := merge.Overlay(a, common.Exposure{Annotations: map[string]common.AnnotationValue{}}); !cmp.Equal(got, a) {
			t.Errorf("something over nothing:\n%s", cmp.Diff(a, got))
		}
		if !cmp.Equal(before, []common.Exposure{a, b}) {
			t.Error("an argument has changed")
		}
	})
}
