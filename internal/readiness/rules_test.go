package readiness_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestGenerated tests that a Job from an API server is reduced to its applied fields, without generated selectors and labels.
func TestGenerated(t *testing.T) {
	applied := func(spec, labels map[string]any) map[string]any {
		spec["template"] = map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"restartPolicy": "Never"}}
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"job-name": "mine"}}, "spec": spec}
	}
	want := applied(map[string]any{"backoffLimit": 3.0}, map[string]any{"app": "a"})
	got := applied(
		map[string]any{"backoffLimit": 3.0, "selector": map[string]any{"matchLabels": map[string]any{"batch.kubernetes.io/controller-uid": "u"}}},
		map[string]any{"app": "a", "controller-uid": "u", "job-name": "j", "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j"},
	)
	rule, ok := readiness.Rules.For(schema.GroupKind{Group: "batch", Kind: "Job"})
	if !ok {
		t.Fatal("a Job has no rule")
	}
	for _, path := range rule.Generated {
		unstructured.RemoveNestedField(got, path...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-applied, +result:\n%s", diff)
	}
}

// TestReplicasDefaultToOne tests that a workload without a number of replicas has one pod.
func TestReplicasDefaultToOne(t *testing.T) {
	for pods, want := range map[float64]bool{0: false, 1: true, 2: false} {
		object, err := structpb.NewStruct(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a", "generation": 1.0}, "spec": map[string]any{},
			"status": map[string]any{"observedGeneration": 1.0, "replicas": pods, "updatedReplicas": pods, "availableReplicas": pods},
		})
		if err != nil {
			t.Fatal(err)
		}
		observed, err := observe.New(map[string]encoded.Struct{"a": encoded.Of(object)})
		if err != nil {
			t.Fatal(err)
		}
		o, _ := observed.Get("a")
		rule, _ := readiness.Rules.For(schema.GroupKind{Group: "apps", Kind: "Deployment"})
		if got := rule.Check(o); got.Ready != want {
			t.Errorf("%v pods: %+v, want ready %t", pods, got, want)
		}
	}
}
