package controllertest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// ObservationTime fails the test if an observation of an object, without others in its cluster, fails or has another time than the clock.
// Conditions have the time of the observation, which observe returns.
func ObservationTime(t *testing.T, scheme *runtime.Scheme, observe func(context.Context, *controller.Env) (time.Time, error)) {
	t.Helper()
	at := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	env := &controller.Env{
		Reader: faultinjection.NewServer(scheme, nil), Clock: clocktesting.NewFakePassiveClock(at), Random: rand.NewChaCha8([32]byte{1}),
	}
	if got, err := observe(t.Context(), env); err != nil || !got.Equal(at) {
		t.Errorf("the observation has the time %s and the error %v, want %s", got, err, at)
	}
}
