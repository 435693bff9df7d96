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
	// conditionPublic: its public address answers as a client wants it.
	conditionPublic = "PublicReachable"
	// conditionExempt: the user that logs in is spared lockout and password expiry.
	conditionExempt = "Exempt"
)

// Reconciler reconciles IdentityChecks, by one worker.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Transport is the way to Keystone, and Public the one that clients outside have.
	Transport, Public identity.Transport
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
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Transport: identity.TLS, Public: identity.TLS,
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
	found, err := r.login(ctx, c, cloud)
	status, state := judge(c, found.version, err, now)
	if err == nil && c.Spec.Exempt {
		set(&status, c, conditionExempt, now, found.exempt)
	}
	status.Authority = certificates(cloud.CA)
	r.visit(ctx, c, &status, now)
	result := reconcile.Result{RequeueAfter: every}
	if err != nil {
		result.RequeueAfter = soon
	}
	return conflict.Again(ctx, result, r.report(ctx, c, status, state))
}

// found is what a login finds out.
type found struct {
	version string
	exempt  condition.State
}

// login gets a token, asks for the version of the API, and sees to it that the next login is possible, too.
func (r *Reconciler) login(ctx context.Context, c *openstackv1.IdentityCheck, cloud identity.Cloud) (f found, err error) {
	begin := r.Clock.Now()
	keystone, err := r.Transport.Administer(ctx, cloud)
	if err == nil {
		now := r.Clock.Now()
		duration.WithLabelValues(c.Namespace, c.Name).Observe(now.Sub(begin).Seconds())
		lastToken.WithLabelValues(c.Namespace, c.Name).Set(float64(now.Unix()))
		f.version, err = keystone.APIVersion(ctx)
	}
	if err == nil && c.Spec.Exempt {
		f.exempt = r.exempt(ctx, c, keystone)
	}
	if err != nil {
		failures.WithLabelValues(c.Namespace, c.Name).Inc()
	}
	return f, err
}

// exempt gives the user that has logged in the options without which others could lock it out. That Keystone refuses this is told, and
// nothing more: the login works.
func (r *Reconciler) exempt(ctx context.Context, c *openstackv1.IdentityCheck, keystone identity.Administrator) condition.State {
	changed, err := keystone.Exempt(ctx, keystone.ID())
	if err != nil {
		return condition.State{Reason: "KeystoneRefuses", Message: err.Error()}
	}
	s := condition.State{
		True: true, Reason: "OptionsSet", Message: "the user is spared lockout, password expiry and a change at the first login",
	}
	if changed {
		event.Record(r.Events, c, event.Normal, s.Reason, s.Message)
	}
	return s
}

// visit asks at the public address, if there is one. As with logins, it takes some failures in a row to say that it has gone.
func (r *Reconciler) visit(ctx context.Context, c *openstackv1.IdentityCheck, status *openstackv1.IdentityCheckStatus, now time.Time) {
	if c.Spec.PublicURL == "" {
		meta.RemoveStatusCondition(&status.Conditions, conditionPublic)
		status.PublicFailures = 0
		return
	}
	why := r.Public.Visit(ctx, string(c.Spec.PublicURL))
	if why == nil {
		status.PublicFailures = 0
		set(status, c, conditionPublic, now, condition.State{True: true, Reason: "KeystoneAnswers", Message: fmt.Sprintf(
			"Keystone answers at %s", c.Spec.PublicURL)})
		return
	}
	status.PublicFailures = min(status.PublicFailures+1, patience)
	before := meta.FindStatusCondition(status.Conditions, conditionPublic)
	answered := before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == c.Generation
	if answered && status.PublicFailures < patience {
		return
	}
	if set(status, c, conditionPublic, now, condition.State{Reason: why.Reason, Message: why.Message}) {
		event.Record(r.Events, c, event.Warning, why.Reason, why.Message)
	}
}

func set(status *openstackv1.IdentityCheckStatus, c *openstackv1.IdentityCheck, name string, now time.Time, s condition.State) bool {
	return condition.Set(&status.Conditions, name, c.Generation, now, s)
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
