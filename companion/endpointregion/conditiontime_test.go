package endpointregion

import (
	"context"
	"testing"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestConditionsHaveTimeOfObservation: a slow pass does not shift the times of its conditions.
func TestConditionsHaveTimeOfObservation(t *testing.T) {
	o := &openstackv1.EndpointRegion{}
	o.Namespace, o.Name = namespace, "glance"
	controllertest.ObservationTime(t, scheme, func(ctx context.Context, env *controller.Env) (time.Time, error) {
		obs, err := observe(ctx, env, o)
		if err != nil {
			return time.Time{}, err
		}
		return obs.now, nil
	})
}
