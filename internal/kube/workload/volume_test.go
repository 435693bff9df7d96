package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestDataOutlivesPods tests that data outlives the pods.
func TestDataOutlivesPods(t *testing.T) {
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	data, cache := Claim{Name: "data"}, Claim{Name: "cache", Disposable: true}
	policy := func(p appsv1.PersistentVolumeClaimRetentionPolicyType) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
		return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: p, WhenScaled: p}
	}
	for name, tc := range map[string]struct {
		reason string
		claims []Claim
		want   *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
	}{
		"none":  {"Without volumes, there is no policy.", nil, nil},
		"data":  {"Data is kept.", []Claim{data}, policy(keep)},
		"cache": {"Nothing is lost.", []Claim{cache}, policy(drop)},
		"both":  {"A StatefulSet has one policy for all volumes.", []Claim{cache, data}, policy(keep)},
	} {
		set := api.StatefulSet(pod(), tc.claims...)
		if diff := cmp.Diff(tc.want, set.Spec.PersistentVolumeClaimRetentionPolicy); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if len(set.Spec.VolumeClaimTemplates) != len(tc.claims) {
			t.Errorf("%s: %d templates, want %d", name, len(set.Spec.VolumeClaimTemplates), len(tc.claims))
		}
	}
}

// TestFixed tests that an existing StatefulSet keeps its templates, including changes by the API server.
func TestFixed(t *testing.T) {
	of := func(size, class string) Claim {
		return Claim{Name: "data", Size: resource.MustParse(size), Class: class}
	}
	for name, tc := range map[string]struct {
		reason         string
		observed, want []Claim
		claim          Claim
		err            string
	}{
		"new":       {reason: "Nothing is fixed yet.", claim: of("1Gi", "fast"), want: []Claim{of("1Gi", "fast")}},
		"same":      {reason: "Sizes are compared as amounts.", observed: []Claim{of("1Gi", "")}, claim: of("1024Mi", ""), want: []Claim{of("1Gi", "")}},
		"larger":    {reason: "The API server refuses another template.", observed: []Claim{of("1Gi", "")}, claim: of("2Gi", ""), want: []Claim{of("1Gi", "")}},
		"class":     {reason: "So it does another class.", observed: []Claim{of("1Gi", "slow")}, claim: of("1Gi", "fast"), want: []Claim{of("1Gi", "slow")}},
		"smaller":   {reason: "No volume shrinks.", observed: []Claim{of("2Gi", "")}, claim: of("1Gi", ""), err: `volume "data" cannot shrink from 2Gi to 1Gi; set at least its current size`},
		"another's": {reason: "Only its own template counts.", observed: []Claim{{Name: "other", Size: resource.MustParse("9Gi")}}, claim: of("1Gi", ""), want: []Claim{of("1Gi", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fixed(observedTemplates(t, tc.observed), tc.claim)
			if text(err) != tc.err {
				t.Errorf("%s\nFixed(...): %v, want %s", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := Fixed([]any{map[string]any{"metadata": map[string]any{"name": "a"}}}, of("1Gi", "")); err == nil {
		t.Error("a template without a size is taken for one of any size")
	}
}

// observedTemplates are claims as a StatefulSet's JSON has them.
func observedTemplates(t *testing.T, claims []Claim) []any {
	t.Helper()
	var out []any
	for _, c := range claims {
		template := c.template()
		template.Status.Phase = corev1.ClaimPending
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
		if err != nil {
			t.Fatalf("cannot convert: %v", err)
		}
		out = append(out, m)
	}
	return out
}

// text of an error, or none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
