package controller

import (
	"bytes"
	"context"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// TestLogsEachStep: each step is logged, with or without an event; a conflict is logged at debug level.
func TestLogsEachStep(t *testing.T) {
	noop := func(context.Context, *Env) error { return nil }
	for name, tc := range map[string]struct {
		step Decision
		want string
	}{
		"Done":  {Decision{Name: "Made", Action: noop, Note: "made it"}, "INFO executed a step {\"step\": \"Made\", \"note\": \"made it\"}\n"},
		"Quiet": {Decision{Name: "Made", Action: noop}, "INFO executed a step {\"step\": \"Made\", \"note\": \"\"}\n"},
		"Told":  {Decision{Name: "Back", Note: "it is back"}, "INFO executed a step {\"step\": \"Back\", \"note\": \"it is back\"}\n"},
		"Waits": {Decision{Name: "Waits", Wait: "for something"}, ""},
		"Conflict": {
			Decision{Name: "Made", Action: func(context.Context, *Env) error { return apierrors.NewConflict(secrets, "x", errTest) }},
			"DEBUG conflict, requeueing {\"error\": \"Operation cannot be fulfilled on secrets \\\"x\\\": it is broken\"}\n",
		},
	} {
		var out bytes.Buffer
		ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&out), zap.UseDevMode(true)))
		writes := 0
		if _, err := testKind(func(*object) Decision { return tc.step }).Reconcile(ctx, newEnv(server(nil, &writes, newObject())),
			request); err != nil {
			t.Error(err)
		}
		got := regexp.MustCompile(`(?m)^\S+\t(\w+)\t([^\t]*)\t`).ReplaceAllString(out.String(), "$1 $2 ")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// recorder records the fields of an event other than its note.
type recorder struct{ kind, reason, action string }

func (r *recorder) Eventf(_, _ runtime.Object, kind, reason, action, _ string, _ ...any) {
	*r = recorder{kind, reason, action}
}

func TestEventsHaveActionReconcile(t *testing.T) {
	got := &recorder{}
	(&Env{Events: got}).Event(newObject(), "Normal", "Made", "made it")
	if want := (recorder{"Normal", "Made", "Reconcile"}); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
}

// TestConditionMetricHasStableName: dashboards and alerts use this metric name.
func TestConditionMetricHasStableName(t *testing.T) {
	m := NewMetrics("test")
	m.setMetrics(newObject(), nil, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}})
	registry := prometheus.NewPedanticRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || families[0].GetName() != "companion_test_condition" {
		t.Errorf("%v", families)
	}
}
