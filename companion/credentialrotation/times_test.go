package credentialrotation

import (
	"context"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// TestPeriodsAreInDays: the unit of the grace period is days.
func TestPeriodsAreInDays(t *testing.T) {
	start := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	w := &observation{rotation: rotationOf(applicationCredential), target: &application{}, record: record{Since: start, Distributed: &start}}
	w.rotation.Spec.GracePeriodDays = new(int32(3))
	if got := w.graceEnd().Sub(start); got != 72*time.Hour {
		t.Errorf("three days of grace are %s", got)
	}
	if got := w.nextRotationTime().Sub(start); got != 83*24*time.Hour {
		t.Errorf("a credential of 90 days, replaced 7 days before, is replaced after %s", got)
	}
	w.rotation.Spec.GracePeriodDays, w.rotation.Spec.PreRotationDays = nil, nil
	if got := w.graceEnd().Sub(start); got != 0 {
		t.Errorf("no grace is %s", got)
	}
	if got := w.nextRotationTime().Sub(start); got != 90*24*time.Hour {
		t.Errorf("a credential of 90 days is replaced after %s", got)
	}
}

// TestReconcileUntilStable: pods are not restarted for a credential before kubelets have updated the Secret.
func TestReconcileUntilStable(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	w, err := observe(context.Background(), (*controller.Env)(r), c.rotation())
	if err != nil {
		t.Fatal(err)
	}
	w.credentialsListed = false // Keystone is not queried for it.
	w.record.ID, w.record.Previous, w.record.Since = "new", w.record.ID, w.now
	for after, want := range map[time.Duration]string{0: "WaitingForKubelets", 9 * time.Second: "WaitingForKubelets", 10 * time.Second: "ConsumerRestarted"} {
		later := *w
		later.now = w.now.Add(after)
		if s := rollConsumers(&later); s == nil || s.Name != want {
			t.Errorf("after %s: %+v, want %s", after, s, want)
		}
	}
}

// TestAnnotation: the annotation of pods contains the name of the Secret and the credential's ID.
func TestAnnotation(t *testing.T) {
	w := &observation{rotation: rotationOf(applicationCredential), target: &application{}}
	if got := w.annotation(); got != "credentials.c5c3.io/glance-credential" {
		t.Error(got)
	}
}
