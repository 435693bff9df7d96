package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const korcGroup = "openstack.k-orc.cloud"

// korc fakes specific behavior of K-ORC: it looks up objects in Keystone, and it needs Keystone again before it removes
// the finalizer of a deleted object, even of an imported one. It reports whether nothing remains to be done.
func (o *Operators) korc(ctx context.Context, i item, u *unstructured.Unstructured) (bool, error) {
	finalizer := guardOf(u.GetKind())
	has := slices.Contains(u.GetFinalizers(), finalizer)
	if u.GetDeletionTimestamp() == nil && has {
		return false, errors.Join(o.guard(ctx, u, finalizer), o.keystone(ctx, u))
	}
	if u.GetDeletionTimestamp() == nil {
		u.SetFinalizers(append(u.GetFinalizers(), finalizer))
		_, err := o.client.Resource(i.resource).Namespace(i.namespace).Update(ctx, u, metav1.UpdateOptions{})
		return true, ignoreNotFound(err)
	}
	if !has {
		return true, nil
	}
	if err := o.keystone(ctx, u); err != nil {
		return true, err
	}
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	_, err := o.client.Resource(i.resource).Namespace(i.namespace).Update(ctx, u, metav1.UpdateOptions{})
	if err == nil {
		o.sayf("%s %s/%s is detached from Keystone", u.GetKind(), i.namespace, i.name)
	}
	return true, ignoreNotFound(err)
}

// keystone checks that a login is possible: there have to be credentials, and a ready Keystone.
func (o *Operators) keystone(ctx context.Context, u *unstructured.Unstructured) error {
	credentials := text(u, "spec", "cloudCredentialsRef", "secretName")
	if _, err := o.client.Resource(secrets).Namespace(u.GetNamespace()).Get(ctx, credentials, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("cannot log in to Keystone: %w", err)
	}
	d, err := o.client.Resource(deployments).Namespace(u.GetNamespace()).Get(ctx, "keystone", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && d.GetDeletionTimestamp() != nil {
		return fmt.Errorf("cannot log in: there is no Keystone any more")
	} else if err != nil {
		return err
	}
	var api appsv1.Deployment
	if err := into(d, &api); err != nil {
		return err
	}
	if api.Status.AvailableReplicas == 0 {
		return fmt.Errorf("cannot log in: Keystone does not answer")
	}
	return nil
}
