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

// conditionAvailable: the endpoint is in its region. K-ORC's conditions have this name.
const conditionAvailable = "Available"

var (
	metrics = controller.NewMetrics("endpoint_region")
	writes  = metrics.Counter("writes_total", "How often the endpoint was put into its region: more than once if someone took it out.")
)

// Neither K-ORC's objects nor Keystone are watched.
var kind = controller.Kind[*openstackv1.EndpointRegion, *world]{
	Name:       "EndpointRegion",
	Object:     &openstackv1.EndpointRegion{},
	Observe:    observe,
	Next:       next,
	Conditions: func(e *openstackv1.EndpointRegion) *[]metav1.Condition { return &e.Status.Conditions },
	Warns:      []string{conditionAvailable},
	Metrics:    metrics,
}

// Reconciler reconciles EndpointRegions.
type Reconciler controller.Env

// Reconcile puts the endpoint into its region if it is not there, and reports.
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

// world is everything that a decision depends on.
type world struct {
	endpoint *openstackv1.EndpointRegion
	now      time.Time
	// id of the endpoint in Keystone, and the region that it is in.
	id, region string
	keystone   *identity.User
	// waits says what is waited for, if anything is.
	waits condition.State
}

// observe looks for the endpoint and at its region. That Keystone does not answer is no error: it is waited for.
func observe(ctx context.Context, env *controller.Env, e *openstackv1.EndpointRegion) (*world, error) {
	w := &world{endpoint: e, now: env.Clock.Now(), id: e.Status.ID}
	id, waits, err := korc.ID(ctx, env.Reader, "Endpoint", e.Namespace, string(e.Spec.EndpointRef))
	if err != nil || waits != "" {
		w.waits = condition.False("Waiting", waits)
		return w, err
	}
	w.id = id
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, e.Namespace, e.Spec.CloudCredentialsRef)
	if err != nil || problem != "" {
		w.waits = condition.False("KeystoneUnavailable", problem)
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

// next puts the endpoint into its region if it is not there, and looks at it again then.
func next(w *world) controller.Step {
	e := w.endpoint
	switch {
	case w.waits.Reason != "":
		return controller.Step{Status: w.report(w.waits), After: controller.Poll}
	case w.region != e.Spec.Region:
		return controller.Step{
			Name: "RegionSet", Do: w.put,
			Note: fmt.Sprintf("put endpoint %s into region %s; it was in %q", w.id, e.Spec.Region, w.region),
		}
	}
	there := condition.True("RegionSet", "the endpoint is in its region")
	return controller.Step{Status: w.report(there), After: controller.Longest}
}

func (w *world) report(s condition.State) func() {
	return func() {
		w.endpoint.Status.ID = w.id
		condition.Set(&w.endpoint.Status.Conditions, conditionAvailable, w.endpoint.Generation, w.now, s)
	}
}

func (w *world) put(ctx context.Context, _ *controller.Env) error {
	e := w.endpoint
	if err := w.keystone.SetEndpointRegion(ctx, w.id, e.Spec.Region); err != nil {
		e.Status.ID = w.id
		return controller.Refused("KeystoneRefuses", err)
	}
	writes.WithLabelValues(e.Namespace, e.Name).Inc()
	return nil
}
