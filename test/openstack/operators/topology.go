//go:build linux

package operators

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
)

// topologyFinalizer delays the deletion of an object until its resource in the broker is deleted.
const topologyFinalizer = "deletion.finalizers.rabbitmq.com"

// topologyKinds returns the kinds of objects that the companion creates and topology handles.
func topologyKinds() []client.Object {
	var out []client.Object
	for _, kind := range []string{"User", "Permission"} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: rabbitmq.Group, Version: rabbitmq.Version, Kind: kind})
		out = append(out, u)
	}
	return out
}

// topology handles Users and Permissions of the companion as the messaging topology operator does, and deletes
// dependents of deleted ones as Kubernetes does. https://github.com/rabbitmq/messaging-topology-operator,
// internal/controller.
func (o *Operators) topology(ctx context.Context) error {
	var errs []error
	existing := map[types.UID]bool{}
	for _, kind := range topologyKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(rabbitmq.Group + "/" + rabbitmq.Version)
		list.SetKind(kind.GetObjectKind().GroupVersionKind().Kind + "List")
		if err := o.Cluster.Client.List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			u := &list.Items[i]
			existing[u.GetUID()] = true
			if u.GetDeletionTimestamp() == nil && orphan(u, existing) {
				errs = append(errs, o.Cluster.Client.Delete(ctx, u))
				continue
			}
			errs = append(errs, o.declared(ctx, u))
		}
	}
	secrets := &corev1.SecretList{}
	if err := o.Cluster.Client.List(ctx, secrets, client.MatchingLabels{"rabbitmq.com/topology-operator": "true"}); err != nil {
		return err
	}
	for i := range secrets.Items {
		if orphan(&secrets.Items[i], existing) {
			errs = append(errs, o.Cluster.Client.Delete(ctx, &secrets.Items[i]))
		}
	}
	return errors.Join(errs...)
}

// orphan reports whether the User that owns an object is deleted.
func orphan(object client.Object, existing map[types.UID]bool) bool {
	for _, by := range object.GetOwnerReferences() {
		if by.Kind == "User" && !existing[by.UID] {
			return true
		}
	}
	return false
}

// declared creates or deletes an object's resource in the broker, and reports the result.
func (o *Operators) declared(ctx context.Context, u *unstructured.Unstructured) error {
	if u.GetDeletionTimestamp() != nil {
		path, err := brokerPath(u)
		if err == nil {
			err = o.manage(ctx, u, http.MethodDelete, path, nil)
		}
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		u.SetFinalizers(nil)
		return o.Cluster.Client.Update(ctx, u)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if slices.ContainsFunc(conditions, func(c any) bool { m, _ := c.(map[string]any); return m["status"] == "True" }) {
		return nil
	}
	var err error
	if u.GetKind() == "User" {
		err = o.importUser(ctx, u)
	} else {
		err = o.permission(ctx, u)
	}
	u.SetFinalizers([]string{topologyFinalizer})
	return o.report(ctx, u, err)
}

// report sets the condition of an object for its resource in the broker.
func (o *Operators) report(ctx context.Context, u *unstructured.Unstructured, err error) error {
	condition := map[string]any{"type": "Ready", "status": "True", "reason": "SuccessfulCreateOrUpdate", "message": ""}
	if err != nil {
		condition["status"], condition["reason"], condition["message"] = "False", "FailedCreateOrUpdate", err.Error()
	}
	return errors.Join(
		unstructured.SetNestedSlice(u.Object, []any{condition}, "status", "conditions"),
		unstructured.SetNestedField(u.Object, u.GetGeneration(), "status", "observedGeneration"),
		o.Cluster.Client.Update(ctx, u),
	)
}

// importUser declares a user with the credentials in its Secret.
func (o *Operators) importUser(ctx context.Context, u *unstructured.Unstructured) error {
	login, err := o.Secret(ctx, u.GetNamespace(), text(u, "spec", "importCredentialsSecret", "name"))
	if err != nil {
		return err
	}
	name := string(login["username"])
	user := map[string]any{"password": string(login["password"]), "tags": []string{}}
	if err := o.manage(ctx, u, http.MethodPut, "users/"+url.PathEscape(name), user); err != nil {
		return err
	}
	return unstructured.SetNestedField(u.Object, name, "status", "username")
}

// brokerPath returns the path of an object's resource in the management API.
func brokerPath(u *unstructured.Unstructured) (string, error) {
	if u.GetKind() == "Permission" {
		return "permissions/" + url.PathEscape(text(u, "spec", "vhost")) + "/" + url.PathEscape(text(u, "spec", "user")), nil
	}
	name := text(u, "status", "username")
	if name == "" {
		return "", fmt.Errorf("%w: the broker never had User %s", errNotFound, u.GetName())
	}
	return "users/" + url.PathEscape(name), nil
}
