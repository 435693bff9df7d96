package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/secretwatch"
)

// Add adds the controller of the kind to a manager, after the given changes to its Env. For watched objects of other kinds,
// only metadata is cached: it triggers a pass, and decisions are based on live reads.
func (k *Kind[T, W]) Add(mgr ctrl.Manager, changes ...func(*Env) error) error {
	if err := k.Metrics.Register(metrics.Registry); err != nil {
		return fmt.Errorf("cannot register metrics: %w", err)
	}
	// All kinds share it.
	if err := metrics.Registry.Register(observedAt); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return fmt.Errorf("cannot register metrics: %w", err)
	}
	name := strings.ToLower(k.Name)
	env := &Env{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Transport: identity.TLS, Public: identity.TLS,
		Dial:   (&net.Dialer{}).DialContext,
		Events: mgr.GetEventRecorder(name), Clock: clock.RealClock{}, Started: time.Now(), Random: rand.Reader,
	}
	for _, change := range changes {
		if err := change(env); err != nil {
			return err
		}
	}
	var changed predicate.Predicate = predicate.GenerationChangedPredicate{}
	if k.Annotated {
		changed = predicate.Or(changed, predicate.AnnotationChangedPredicate{})
	}
	b := ctrl.NewControllerManagedBy(mgr).Named(name).For(k.Object, builder.WithPredicates(changed)).WithOptions(k.options())
	if k.Secrets != nil {
		secrets, err := secretwatch.New(mgr)
		if err != nil {
			return err
		}
		env.Secrets = secrets
		b = b.WatchesRawSource(secrets)
	}
	for _, o := range k.Owns {
		b = b.Owns(o, builder.OnlyMetadata)
	}
	for _, o := range k.Consumers {
		consumer, err := apiutil.GVKForObject(o, mgr.GetScheme())
		if err != nil {
			return err
		}
		b = b.WatchesMetadata(o, handler.EnqueueRequestsFromMapFunc(k.requests(mgr.GetClient(), consumer.Kind)))
	}
	return b.Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return k.Reconcile(ctx, env, req)
	}))
}

// shortestBackoff is the time between the first failed pass and the next one, as in controller-runtime. It doubles with each failure.
const shortestBackoff = 5 * time.Millisecond

// options returns the options of the controller.
func (k *Kind[T, W]) options() (out runtimecontroller.Options) {
	if k.LongestBackoff > 0 {
		out.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestBackoff, k.LongestBackoff)
	}
	return out
}

// requests maps a consumer to the objects that reference it.
func (k *Kind[T, W]) requests(reader client.Client, kind string) handler.MapFunc {
	return func(ctx context.Context, consumer client.Object) []reconcile.Request {
		list := clone(k.List)
		if err := reader.List(ctx, list, client.InNamespace(consumer.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "cannot list", "kind", k.Name)
			return nil
		}
		var out []reconcile.Request
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			if o, ok := item.(T); ok && k.Names(o, kind, consumer.GetName()) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
			}
			return nil
		})
		return out
	}
}
