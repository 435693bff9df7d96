package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestStatus verifies the status without objects, when all are ready, and during a change.
func TestStatus(t *testing.T) {
	w := ready(t, xr(t, "small"))
	got, _ := at(w.XR.AsMap(), "status").(map[string]any)
	want := map[string]any{
		"phase": "Ready", "updatePhase": "Idle", "endpoint": "https://keystone.cloud.svc:5000/v3", "release": "2025.2",
		"refs": map[string]any{"adminSecret": "keystone-admin"},
	}
	for field, value := range want {
		if diff := cmp.Diff(value, got[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if version := derived(t, xr(t, "small")).Version(); got["version"] != version || version == "" {
		t.Errorf("version %v, want %q", got["version"], version)
	}
	for name, tc := range map[string]struct{ previous, phase, update string }{
		"new":      {"", "Creating", "Idle"},
		"creating": {"Creating", "Creating", "Idle"},
		"ready":    {"Ready", "Updating", "Updating"},
		"updating": {"Updating", "Updating", "Updating"},
	} {
		in := input(t, xr(t, "small"), nil)
		in.XR.Status.Phase, in.XR.Generation = tc.previous, 7
		m, err := derive(in)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := graph.Compute(m, in.Observed, readiness.Rules, compose.Item.Reference)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := status(m, plan).(keystonev1.KeystoneStatus)
		if s.Phase != tc.phase || s.UpdatePhase != tc.update || s.ObservedGeneration != 7 || s.Release != "" || s.Version != "" {
			t.Errorf("%s: %+v", name, s)
		}
		if len(s.Components) != len(graph)-2 || s.Components[0].Phase == common.ComponentReady { // neither exposed nor watched
			t.Errorf("%s: components %+v", name, s.Components)
		}
	}
}

// TestReplicasDefaultToOne verifies that a Keystone without replicas in its spec has one pod, whose objects have its labels.
func TestReplicasDefaultToOne(t *testing.T) {
	m := derived(t, xr(t, "small", func(spec map[string]any) { delete(spec, "replicas") }))
	if m.Workload.Replicas != 1 {
		t.Errorf("%d pods", m.Workload.Replicas)
	}
	want := map[string]string{
		"app.kubernetes.io/name": "keystone", "app.kubernetes.io/instance": "keystone", "app.kubernetes.io/part-of": "openstack",
		"app.kubernetes.io/managed-by": "crossplane-cobaltcore",
	}
	if diff := cmp.Diff(want, m.Meta("x").Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
