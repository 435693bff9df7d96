package endpointregion

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
)

// conditionAvailable: the endpoint is in its region. K-ORC's conditions have the same name.
const conditionAvailable = "Available"

var (
	metrics = controller.NewMetrics("endpoint_region")
	writes  = metrics.Counter("writes_total", "Number of times the region of the endpoint was set: more than once if it was removed.")
)

// Neither K-ORC's objects nor Keystone are watched.
var kind = controller.Kind[*openstackv1.EndpointRegion, *observation]{
	Name:       "EndpointRegion",
	Object:     &openstackv1.EndpointRegion{},
	Observe:    observe,
	Next:       next,
	Conditions: func(e *openstackv1.EndpointRegion) *[]metav1.Condition { return &e.Status.Conditions },
	ObservedAt: func(e *openstackv1.EndpointRegion) **metav1.Time { return &e.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.waits.Reason != "" },
	Warns:      []string{conditionAvailable},
	Metrics:    metrics,
}

// Reconciler reconciles EndpointRegions.
type Reconciler controller.Env

// Reconcile sets the region of the endpoint if it differs, and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=endpointregions,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=endpointregions/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.k-orc.cloud,resources=endpoints,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	endpoint *openstackv1.EndpointRegion
	now      time.Time
	// id of the endpoint in Keystone, and its current region.
	id, region string
	keystone   *identity.User
	// waits is the condition if the controller has to wait.
	waits condition.State
}

// observe reads the endpoint and its region. A failing Keystone is not an error: the controller waits for it.
func observe(ctx context.Context, env *controller.Env, e *openstackv1.EndpointRegion) (*observation, error) {
	w := &observation{endpoint: e, now: env.Clock.Now(), id: e.Status.ID}
	id, waiting, err := korc.ID(ctx, env.Reader, "Endpoint", e.Namespace, string(e.Spec.EndpointRef))
	if err != nil || waiting != "" {
		w.waits = condition.False("Waiting", waiting)
		return w, err
	}
	w.id = id
	cloud, reason, err := identity.FindCloud(ctx, env.Reader, e.Namespace, e.Spec.CloudCredentialsRef)
	if err != nil || reason != "" {
		w.waits = condition.False("KeystoneUnavailable", reason)
		return w, err
	}
	w.keystone, err = env.Transport.Login(ctx, cloud)
	if err == nil {
		w.region, err = w.keystone.EndpointRegion(ctx, id)
	}
	if err != nil {
		w.waits = condition.False("KeystoneUnavailable", err.Error())
	}
	return w, nil
}

// next sets the region of the endpoint if it differs, and checks it again in the next pass.
func next(w *observation) controller.Decision {
	e := w.endpoint
	switch {
	case w.waits.Reason != "":
		return controller.Decision{Status: w.report(w.waits), RequeueAfter: controller.Poll}
	case w.region != e.Spec.Region:
		return controller.Decision{
			Name: "RegionSet", Action: w.put,
			Note: fmt.Sprintf("set the region of endpoint %s to %s; it was %q", w.id, e.Spec.Region, w.region),
		}
	}
	existing := condition.True("RegionSet", "the endpoint is in its region")
	return controller.Decision{Status: w.report(existing), RequeueAfter: controller.ResyncInterval}
}

func (obs *observation) report(s condition.State) func() {
	return func() {
		obs.endpoint.Status.ID = obs.id
		condition.Set(&obs.endpoint.Status.Conditions, conditionAvailable, obs.endpoint.Generation, obs.now, s)
	}
}

func (obs *observation) put(ctx context.Context, _ *controller.Env) error {
	e := obs.endpoint
	if err := obs.keystone.SetEndpointRegion(ctx, obs.id, e.Spec.Region); err != nil {
		e.Status.ID = obs.id
		return controller.Rejected("RejectedByKeystone", err)
	}
	writes.WithLabelValues(e.Namespace, e.Name).Inc()
	return nil
}
