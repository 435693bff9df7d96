package endpointregion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
)

const (
	// poll while something is awaited (neither K-ORC's objects nor Keystone are watched), and longest the time after which it looks in any
	// case: whether the endpoint is still there.
	poll    = 10 * time.Second
	longest = 10 * time.Minute

	// conditionAvailable: the endpoint is in its region. K-ORC's conditions have this name.
	conditionAvailable = "Available"
)

// Reconciler reconciles EndpointRegions.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Transport is the way to Keystone.
	Transport identity.Transport
	// Events tells people what was done.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=endpointregions,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=endpointregions/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.k-orc.cloud,resources=endpoints,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("endpointregion").
		For(&openstackv1.EndpointRegion{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&Reconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Transport: identity.TLS,
			Events: mgr.GetEventRecorder("endpointregion"), Clock: clock.RealClock{},
		})
}

// Reconcile puts the endpoint into its region if it is not there, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	e := &openstackv1.EndpointRegion{}
	if err := r.Reader.Get(ctx, req.NamespacedName, e); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the EndpointRegion: %w", err)
	}
	if e.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // The endpoint stays as it is.
	}
	before := e.Status.DeepCopy()
	state, err := r.put(ctx, e)
	if err != nil {
		return reconcile.Result{}, err
	}
	result := reconcile.Result{RequeueAfter: longest}
	if !state.True {
		result.RequeueAfter = poll
	}
	return conflict.Again(ctx, result, r.report(ctx, e, before, state))
}

// put finds endpoint and Keystone, puts the one into its region, and says what has come of it. An error is the API server's.
func (r *Reconciler) put(ctx context.Context, e *openstackv1.EndpointRegion) (condition.State, error) {
	id, waits, err := korc.ID(ctx, r.Reader, "Endpoint", e.Namespace, string(e.Spec.EndpointRef))
	if err != nil || waits != "" {
		return condition.State{Reason: "Waiting", Message: waits}, err
	}
	e.Status.ID = id
	cloud, problem, err := identity.FindCloud(ctx, r.Reader, e.Namespace, e.Spec.CloudCredentialsRef)
	if err != nil || problem != "" {
		return condition.State{Reason: "KeystoneUnavailable", Message: problem}, err
	}
	return r.compare(ctx, e, cloud), nil
}

// compare puts the endpoint into its region if it is not there. What Keystone does not answer or refuses is told.
func (r *Reconciler) compare(ctx context.Context, e *openstackv1.EndpointRegion, cloud identity.Cloud) condition.State {
	id := e.Status.ID
	keystone, err := r.Transport.Administer(ctx, cloud)
	if err != nil {
		return condition.State{Reason: "KeystoneUnavailable", Message: err.Error()}
	}
	region, err := keystone.EndpointRegion(ctx, id)
	if err != nil {
		return condition.State{Reason: "KeystoneUnavailable", Message: err.Error()}
	}
	if region != e.Spec.Region {
		if err := keystone.SetEndpointRegion(ctx, id, e.Spec.Region); err != nil {
			return condition.State{Reason: "KeystoneRefuses", Message: err.Error()}
		}
		writes.WithLabelValues(e.Namespace, e.Name).Inc()
		event.Record(r.Events, e, event.Normal, "RegionSet",
			fmt.Sprintf("put endpoint %s into region %s; it was in %q", id, e.Spec.Region, region))
	}
	return condition.State{True: true, Reason: "RegionSet", Message: "the endpoint is in its region"}
}

// report writes the status, if it has changed, and an event if the endpoint is not in its region for a new reason.
func (r *Reconciler) report(
	ctx context.Context, e *openstackv1.EndpointRegion, before *openstackv1.EndpointRegionStatus, s condition.State,
) error {
	news := condition.Set(&e.Status.Conditions, conditionAvailable, e.Generation, r.Clock.Now(), s)
	measure(e)
	if equality.Semantic.DeepEqual(*before, e.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, e); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	if news {
		event.Record(r.Events, e, event.Warning, s.Reason, s.Message)
	}
	return nil
}
