package secretaggregate

import (
	"context"
	"testing"
	"time"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestConditionsHaveTimeOfObservation: a slow pass does not shift the times of its conditions.
func TestConditionsHaveTimeOfObservation(t *testing.T) {
	o := &c5c3v1.SecretAggregate{}
	o.Namespace, o.Name = namespace, "glance"
	controllertest.ObservationTime(t, scheme, func(ctx context.Context, env *controller.Env) (time.Time, error) {
		obs, err := observe(ctx, env, o)
		if err != nil {
			return time.Time{}, err
		}
		return obs.now, nil
	})
}
