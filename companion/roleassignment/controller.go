package roleassignment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

const (
	// atOnce is after a step, poll while something is awaited (neither K-ORC's objects nor Keystone are watched), and longest the time
	// after which it looks in any case: whether the role is still given.
	atOnce  = conflict.AtOnce
	poll    = 10 * time.Second
	longest = 10 * time.Minute

	// conditionAvailable: the role is given. K-ORC's conditions have this name.
	conditionAvailable = "Available"
)

// Reconciler reconciles RoleAssignments.
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
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=roleassignments,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=roleassignments/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.k-orc.cloud,resources=domains;groups;projects;roles;users,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("roleassignment").
		For(&openstackv1.RoleAssignment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&Reconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Transport: identity.TLS,
			Events: mgr.GetEventRecorder("roleassignment"), Clock: clock.RealClock{},
		})
}

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &openstackv1.RoleAssignment{}
	if err := r.Reader.Get(ctx, req.NamespacedName, a); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the RoleAssignment: %w", err)
	}
	w, err := observe(ctx, r.Reader, r.Transport, a)
	if err != nil {
		return reconcile.Result{}, err
	}
	s := next(w)
	switch {
	case s.do != nil:
		return r.take(ctx, w, s)
	case s.state.Reason == "":
		return reconcile.Result{}, nil // It is about to be gone.
	case !s.state.True:
		return conflict.Again(ctx, reconcile.Result{RequeueAfter: poll}, r.report(ctx, w, s.state))
	}
	return conflict.Again(ctx, reconcile.Result{RequeueAfter: longest}, r.report(ctx, w, s.state))
}

// take takes a step. What Keystone refuses is told and tried again later.
func (r *Reconciler) take(ctx context.Context, w *world, s step) (reconcile.Result, error) {
	err := s.do(ctx, r, w)
	var no refusedError
	switch {
	case errors.As(err, &no):
		return conflict.Again(ctx, reconcile.Result{RequeueAfter: poll},
			r.report(ctx, w, condition.State{Reason: "KeystoneRefuses", Message: err.Error()}))
	case apierrors.IsNotFound(err):
		return reconcile.Result{RequeueAfter: atOnce}, nil // Somebody else has let it go.
	case err != nil:
		return conflict.Again(ctx, reconcile.Result{}, err)
	}
	if s.state.Reason != "" {
		log.FromContext(ctx).Info("took a step", "step", s.state.Reason, "note", s.state.Message)
		event.Record(r.Events, w.assignment, event.Normal, s.state.Reason, s.state.Message)
	}
	return reconcile.Result{RequeueAfter: atOnce}, nil
}

// report writes the status, if it has changed, and an event if the role is not given for a new reason.
func (r *Reconciler) report(ctx context.Context, w *world, s condition.State) error {
	news := w.set(r.Clock.Now(), s)
	measure(w.assignment)
	if equality.Semantic.DeepEqual(w.written, w.assignment.Status) {
		return nil
	}
	if err := r.write(ctx, w); err != nil {
		return err
	}
	if news {
		event.Record(r.Events, w.assignment, event.Warning, s.Reason, s.Message)
	}
	return nil
}

// write writes the status over the version that was read.
func (r *Reconciler) write(ctx context.Context, w *world) error {
	if err := r.Client.Status().Update(ctx, w.assignment); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	w.written = *w.assignment.Status.DeepCopy()
	return nil
}
