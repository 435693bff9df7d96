// Package controllertest checks the wiring of the companion's kinds, and repeats passes of their controllers until a goal is reached.
package controllertest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// Expectations are the expected watches, warnings and metrics of a kind.
type Expectations struct {
	Annotated, Finalizes bool
	// Owns and Consumers are kinds.
	Owns, Consumers []string
	// Warns are conditions.
	Warns []string
	// Metrics are the names used by dashboards and alerts, in alphabetical order.
	Metrics []string
}

// names is a registry that records the names of registered metrics.
type names struct {
	prometheus.Registerer

	all []string
}

var fullName = regexp.MustCompile(`fqName: "([^"]*)"`)

// Register records the names.
func (n *names) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 1)
	c.Describe(descriptions)
	n.all = append(n.all, fullName.FindStringSubmatch((<-descriptions).String())[1])
	return nil
}

// Kind fails the test if the wiring of the kind differs from the expectation, or is inconsistent.
func Kind[T client.Object, W any](t *testing.T, scheme *runtime.Scheme, k *controller.Kind[T, W], want Expectations) {
	t.Helper()
	if got := kindOf(t, scheme, k.Object); got != k.Name {
		t.Errorf("kind %s reconciles objects of kind %s", k.Name, got)
	}
	if len(k.Consumers) > 0 {
		if got := kindOf(t, scheme, k.List); got != k.Name+"List" {
			t.Errorf("consumers trigger passes for objects of a %s", got)
		}
	}
	got := Expectations{Annotated: k.Annotated, Finalizes: k.Finalizes, Warns: k.Warns}
	for _, o := range k.Owns {
		got.Owns = append(got.Owns, kindOf(t, scheme, o))
	}
	for _, o := range k.Consumers {
		got.Consumers = append(got.Consumers, kindOf(t, scheme, o))
	}
	registry := &names{}
	if err := k.Metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	slices.Sort(registry.all)
	got.Metrics = registry.all
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kind %s (-want +got):\n%s", k.Name, diff)
	}
	o, ok := k.Object.DeepCopyObject().(T)
	if !ok {
		t.Fatalf("a copy of %T is not a %T", k.Object, k.Object)
	}
	*k.Conditions(o) = []metav1.Condition{{Type: k.Warns[0]}}
	if len(*k.Conditions(o)) != 1 || len(*k.Conditions(k.Object)) != 0 {
		t.Errorf("Conditions of kind %s does not return the conditions of the object", k.Name)
	}
	at := metav1.Unix(1, 0)
	*k.ObservedAt(o) = &at
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(fields, "status", freshness.Field); got == "" || *k.ObservedAt(k.Object) != nil {
		t.Errorf("ObservedAt of kind %s does not return status.%s of the object", k.Name, freshness.Field)
	}
}

func kindOf(t *testing.T, scheme *runtime.Scheme, o runtime.Object) string {
	t.Helper()
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		t.Fatal(err)
	}
	return gvk.Kind
}
