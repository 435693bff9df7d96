package identitycheck

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
)

const (
	// every is how often it logs in, soon how often after a failure: and no pass, whatever woke it, does so more often than that.
	every = time.Minute
	soon  = 10 * time.Second
	// rewrite is how often the time of the last token is written when nothing else changes: whatever is written wakes Crossplane.
	rewrite = 10 * time.Minute
	// patience is how many failures in a row make Keystone unreachable.
	patience = 3

	// conditionReachable: Keystone gives tokens.
	conditionReachable = "Reachable"
)

// Reconciler reconciles IdentityChecks, by one worker.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Transport is the way to Keystone.
	Transport identity.Transport
	// Events tells people what has changed.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock

	// tried is when it logged in last. Nothing is lost with it but the limit.
	tried map[types.NamespacedName]time.Time
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=identitychecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=identitychecks/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("identitycheck").
		For(&openstackv1.IdentityCheck{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&Reconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Transport: identity.TLS,
			Events: mgr.GetEventRecorder("identitycheck"), Clock: clock.RealClock{},
		})
}

// Reconcile logs in once and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &openstackv1.IdentityCheck{}
	if err := r.Reader.Get(ctx, req.NamespacedName, c); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			delete(r.tried, req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the IdentityCheck: %w", err)
	}
	if c.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	cloud, problem, err := identity.FindCloud(ctx, r.Reader, c.Namespace, c.Spec.CloudCredentialsRef)
	if err != nil {
		return reconcile.Result{}, err
	}
	if problem != "" {
		return conflict.Again(ctx, reconcile.Result{RequeueAfter: soon},
			r.report(ctx, c, c.Status, condition.State{Reason: "NoCredentials", Message: problem}))
	}
	now := r.Clock.Now()
	if last, ok := r.tried[req.NamespacedName]; ok && now.Sub(last) < soon {
		return reconcile.Result{RequeueAfter: soon - now.Sub(last)}, nil
	}
	if r.tried == nil {
		r.tried = map[types.NamespacedName]time.Time{}
	}
	r.tried[req.NamespacedName] = now
	version, err := r.login(ctx, c, cloud)
	status, state := judge(c, version, err, now)
	status.Authority = certificates(cloud.CA)
	result := reconcile.Result{RequeueAfter: every}
	if err != nil {
		result.RequeueAfter = soon
	}
	return conflict.Again(ctx, result, r.report(ctx, c, status, state))
}

// login gets a token and asks for the version of the API.
func (r *Reconciler) login(ctx context.Context, c *openstackv1.IdentityCheck, cloud identity.Cloud) (version string, err error) {
	begin := r.Clock.Now()
	keystone, err := r.Transport.Administer(ctx, cloud)
	if err == nil {
		now := r.Clock.Now()
		duration.WithLabelValues(c.Namespace, c.Name).Observe(now.Sub(begin).Seconds())
		lastToken.WithLabelValues(c.Namespace, c.Name).Set(float64(now.Unix()))
		version, err = keystone.APIVersion(ctx)
	}
	if err != nil {
		failures.WithLabelValues(c.Namespace, c.Name).Inc()
	}
	return version, err
}

// judge is what the status is after a login, and what the condition says then.
func judge(c *openstackv1.IdentityCheck, version string, err error, now time.Time) (openstackv1.IdentityCheckStatus, condition.State) {
	s := *c.Status.DeepCopy()
	if err == nil {
		if s.Failures > 0 || s.APIVersion != version || s.LastToken == nil || now.Sub(s.LastToken.Time) >= rewrite {
			s.LastToken = &metav1.Time{Time: now.Truncate(time.Second)}
		}
		s.Failures, s.APIVersion = 0, version
		return s, condition.State{True: true, Reason: "TokenIssued", Message: "Keystone gives tokens"}
	}
	s.Failures = min(s.Failures+1, patience)
	if s.Failures < patience && meta.IsStatusConditionTrue(s.Conditions, conditionReachable) {
		return s, condition.State{True: true, Reason: "TokenIssued", Message: "Keystone gives tokens"}
	}
	reason := "KeystoneUnavailable"
	if identity.IsRefused(err) {
		reason = "LoginRefused"
	}
	return s, condition.State{Reason: reason, Message: err.Error()}
}

// report writes the status, if it has changed, and an event if Keystone is not reachable for a new reason, or is so again.
func (r *Reconciler) report(
	ctx context.Context, c *openstackv1.IdentityCheck, status openstackv1.IdentityCheckStatus, s condition.State,
) error {
	changed := c.DeepCopy()
	changed.Status = *status.DeepCopy()
	news := condition.Set(&changed.Status.Conditions, conditionReachable, c.Generation, r.Clock.Now(), s)
	measure(changed)
	if equality.Semantic.DeepEqual(changed.Status, c.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	switch was := meta.IsStatusConditionTrue(c.Status.Conditions, conditionReachable); {
	case news:
		event.Record(r.Events, c, event.Warning, s.Reason, s.Message)
	case s.True && !was && len(c.Status.Conditions) > 0:
		event.Record(r.Events, c, event.Normal, s.Reason, s.Message)
	}
	return nil
}
