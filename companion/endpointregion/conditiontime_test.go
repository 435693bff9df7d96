package endpointregion

import (
	"math/rand/v2"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// TestNow: the time of conditions is the time of the observation.
func TestNow(t *testing.T) {
	at := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	env := &controller.Env{
		Reader: faultinjection.NewServer(scheme, nil), Clock: clocktesting.NewFakePassiveClock(at), Random: rand.NewChaCha8([32]byte{1}),
	}
	o := &openstackv1.EndpointRegion{}
	o.Namespace, o.Name = namespace, "glance"
	w, err := observe(t.Context(), env, o)
	if err != nil || !w.now.Equal(at) {
		t.Errorf("%+v, %v", w, err)
	}
}
