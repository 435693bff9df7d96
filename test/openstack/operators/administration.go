//go:build linux

package operators

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/endpointregion"
	"github.com/c5c3/crossplane-cobaltcore/companion/identitycheck"
	"github.com/c5c3/crossplane-cobaltcore/companion/roleassignment"
)

// administration runs the companion's controllers that log in to Keystone as an administrator.
func (o *Operators) administration(ctx context.Context) {
	api, recorder := o.Cluster.Client, discard{}
	roles := &roleassignment.Reconciler{Client: api, Reader: api, Transport: o.transport, Events: recorder, Clock: clock{o}}
	regions := &endpointregion.Reconciler{Client: api, Reader: api, Transport: o.transport, Events: recorder, Clock: clock{o}}
	checks := &identitycheck.Reconciler{
		Client: api, Reader: api, Transport: o.transport, Public: o.outside, Events: recorder, Clock: clock{o},
	}
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.expired(roles), &openstackv1.RoleAssignmentList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.expired(regions), &openstackv1.EndpointRegionList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.expired(checks), &openstackv1.IdentityCheckList{}))
}

// outside returns the transport of external clients, which trust the public CA.
func (o *Operators) outside([]byte) (http.RoundTripper, error) {
	return o.transport(o.Public.Certificate)
}

// expired runs a reconciler only when its delay has expired by the companion's clock: each of these passes is a login
// to Keystone.
func (o *Operators) expired(r reconcile.Reconciler) reconcile.Reconciler {
	return o.scheduledOrTriggered(r, func(context.Context, reconcile.Request) (bool, error) { return false, nil })
}

// scheduledOrTriggered runs a reconciler when it is due or triggered. Its delay counts from its start: if the clock is
// set forward while it runs, it is due again, and sees the earlier changes.
func (o *Operators) scheduledOrTriggered(r reconcile.Reconciler, woken func(context.Context, reconcile.Request) (bool,
	error)) reconcile.Reconciler {
	next := map[reconcile.Request]time.Time{}
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		wakes, err := woken(ctx, req)
		if err != nil || (!wakes && o.Now().Before(next[req])) {
			return reconcile.Result{}, err
		}
		began := o.Now()
		result, err := r.Reconcile(ctx, req)
		next[req] = began.Add(result.RequeueAfter)
		return result, err
	})
}

// available waits until the companion has set an object's condition to true for the current generation.
func (o *Operators) available(ctx context.Context, u *unstructured.Unstructured, created client.Object, condition string,
	conditions func() []metav1.Condition,
) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	err := o.Cluster.Wait(ctx, Timeout, u.GetKind()+" "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), created)
		c := apimeta.FindStatusCondition(conditions(), condition)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == created.GetGeneration(), err
	})
	if err != nil {
		return fmt.Errorf("%w: %+v", err, conditions())
	}
	return nil
}

func (o *Operators) endpointRegion(ctx context.Context, u *unstructured.Unstructured) error {
	e := &openstackv1.EndpointRegion{}
	return o.available(ctx, u, e, "Available", func() []metav1.Condition { return e.Status.Conditions })
}

func (o *Operators) identityCheck(ctx context.Context, u *unstructured.Unstructured) error {
	c := &openstackv1.IdentityCheck{}
	return o.available(ctx, u, c, "Reachable", func() []metav1.Condition { return c.Status.Conditions })
}

func (o *Operators) roleAssignment(ctx context.Context, u *unstructured.Unstructured) error {
	a := &openstackv1.RoleAssignment{}
	return o.available(ctx, u, a, "Available", func() []metav1.Condition { return a.Status.Conditions })
}

// configMap applies a ConfigMap. Functions see faked statuses: a ConfigMap with Keystone's CA from an IdentityCheck
// gets the CA that the real companion found.
func (o *Operators) configMap(ctx context.Context, u *unstructured.Unstructured) error {
	checks := &openstackv1.IdentityCheckList{}
	if err := o.Cluster.Client.List(ctx, checks, client.InNamespace(u.GetNamespace())); err != nil {
		return err
	}
	for _, c := range checks.Items {
		if published := text(u, "data", "ca.crt"); published == "" || c.Status.Authority == "" {
			continue
		}
		if err := unstructured.SetNestedField(u.Object, c.Status.Authority, "data", "ca.crt"); err != nil {
			return err
		}
	}
	return o.apply(ctx, u)
}
