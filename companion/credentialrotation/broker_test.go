package credentialrotation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

func brokerKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: kind}
}

// permissionIn returns a permission for a virtual host; the cell has its own queue.
func permissionIn(vhost string) c5c3v1.QueuePermission {
	p := c5c3v1.QueuePermission{Vhost: vhost}
	p.RabbitMQRef.Name = "rabbitmq"
	if vhost == "cell" {
		p.RabbitMQRef.Name = "cell"
	}
	return p
}

// broker is the state of RabbitMQ on all queues.
type broker struct {
	// users are passwords by queue and name, granted are virtual hosts by the same keys.
	users   map[[2]string]string
	granted map[[2]string]map[string]bool
	// vhosts are the existing virtual hosts. A valid credential must have access to those in needs.
	vhosts, needs map[string]bool
	// away is set if no queue responds.
	away bool
	// unmade are queues that do not exist yet.
	unmade map[string]bool
	// spared are kinds that Kubernetes has not garbage-collected yet.
	spared []string
}

const operatorFinalizer = "deletion.finalizers.rabbitmq.com"

func newBroker() *broker {
	return &broker{
		users: map[[2]string]string{{"rabbitmq", "theirs"}: "x"}, granted: map[[2]string]map[string]bool{},
		vhosts: map[string]bool{"glance": true, "cell": true}, needs: map[string]bool{"glance": true},
	}
}

// accepts reports whether a login with the credential succeeds and has access to all required virtual hosts.
func (b *broker) accepts(l loaded) bool {
	for vhost := range b.needs {
		at := [2]string{string(permissionIn(vhost).RabbitMQRef.Name), l.id}
		if l.value == "" || b.users[at] != l.value || !b.granted[at][vhost] {
			return false
		}
	}
	return true
}

// operator simulates RabbitMQ's messaging topology operator, and Kubernetes' garbage collector.
// https://github.com/rabbitmq/messaging-topology-operator/tree/v1.19.1/internal/controller
func (c *cluster) operator() {
	ctx := context.Background()
	c.virtualHosts()
	for _, kind := range []string{"User", "Permission"} {
		for _, u := range c.brokerObjects(kind) {
			c.garbage(kind, u)
			if c.api.Get(ctx, client.ObjectKeyFromObject(u), u) != nil {
				continue
			}
			err := errors.New("connection refused")
			switch {
			case c.broker.away:
			case u.GetDeletionTimestamp() != nil:
				c.broker.delete(u)
				u.SetFinalizers(nil)
				c.must(c.api.Update(ctx, u))
				continue
			default:
				err = c.declare(u)
			}
			if u.GetDeletionTimestamp() == nil {
				c.report(u, err)
			}
		}
	}
	secrets := &corev1.SecretList{}
	c.must(c.api.List(ctx, secrets))
	for i := range secrets.Items {
		c.garbage("Secret", &secrets.Items[i])
	}
}

// virtualHosts creates an object for each existing virtual host.
func (c *cluster) virtualHosts() {
	objects := map[string]*unstructured.Unstructured{}
	for _, o := range c.brokerObjects("Vhost") {
		objects[o.GetName()] = o
		if !c.broker.vhosts[o.GetName()] {
			o.SetFinalizers(nil)
			c.must(c.api.Update(context.Background(), o))
			c.must(c.api.Delete(context.Background(), o))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.broker.vhosts)) {
		o := objects[name]
		if o == nil {
			cluster := string(permissionIn(name).RabbitMQRef.Name)
			o = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"name": name, "rabbitmqClusterReference": map[string]any{"name": cluster},
			}}}
			o.SetGroupVersionKind(brokerKind("Vhost"))
			o.SetNamespace(namespace)
			o.SetName(name)
			c.must(c.api.Create(context.Background(), o))
			continue // Created in the queue in the next call.
		}
		if !c.broker.away {
			c.report(o, nil)
		}
	}
}

func (c *cluster) brokerObjects(kind string) []*unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(brokerKind(kind + "List"))
	c.must(c.api.List(context.Background(), list, client.InNamespace(namespace)))
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

// garbage deletes an object whose owner no longer exists.
func (c *cluster) garbage(kind string, o client.Object) {
	ctx := context.Background()
	owners := map[types.UID]bool{}
	for _, u := range c.brokerObjects("User") {
		owners[u.GetUID()] = true
	}
	rotation := &c5c3v1.CredentialRotation{}
	if c.api.Get(ctx, key("glance"), rotation) == nil {
		owners[rotation.UID] = true
	}
	if slices.Contains(c.broker.spared, kind) {
		return
	}
	for _, by := range o.GetOwnerReferences() {
		if !owners[by.UID] && o.GetDeletionTimestamp() == nil {
			c.must(c.api.Delete(ctx, o))
			return
		}
	}
}

// declare applies an object to the broker.
func (c *cluster) declare(u *unstructured.Unstructured) error {
	queue, _, _ := unstructured.NestedString(u.Object, "spec", "rabbitmqClusterReference", "name")
	if c.broker.unmade[queue] {
		return fmt.Errorf("there is no RabbitmqCluster %s", queue)
	}
	if u.GetKind() == "User" {
		name, _, _ := unstructured.NestedString(u.Object, "spec", "importCredentialsSecret", "name")
		s := &corev1.Secret{}
		if err := c.api.Get(context.Background(), key(name), s); err != nil {
			return fmt.Errorf("could not find password secret %s", name)
		}
		if s.Labels["rabbitmq.com/topology-operator"] != "true" {
			return fmt.Errorf("could not see password secret %s", name)
		}
		c.must(unstructured.SetNestedField(u.Object, string(s.Data["username"]), "status", "username"))
		c.broker.users[[2]string{queue, string(s.Data["username"])}] = string(s.Data["password"])
		return nil
	}
	user, _, _ := unstructured.NestedString(u.Object, "spec", "user")
	vhost, _, _ := unstructured.NestedString(u.Object, "spec", "vhost")
	at := [2]string{queue, user}
	if !c.broker.vhosts[vhost] {
		c.violations = append(c.violations, fmt.Sprintf("%s was created in virtual host %s before that exists", u.GetName(), vhost))
	}
	if c.broker.users[at] == "" || !c.broker.vhosts[vhost] {
		return errors.New("Error 400 (bad_request): vhost_or_user_not_found")
	}
	if c.broker.granted[at] == nil {
		c.broker.granted[at] = map[string]bool{}
	}
	c.broker.granted[at][vhost] = true
	return nil
}

// delete removes an object from the broker.
func (b *broker) delete(u *unstructured.Unstructured) {
	queue, _, _ := unstructured.NestedString(u.Object, "spec", "rabbitmqClusterReference", "name")
	if u.GetKind() == "User" {
		name, _, _ := unstructured.NestedString(u.Object, "status", "username")
		delete(b.users, [2]string{queue, name})
		delete(b.granted, [2]string{queue, name})
		return
	}
	user, _, _ := unstructured.NestedString(u.Object, "spec", "user")
	vhost, _, _ := unstructured.NestedString(u.Object, "spec", "vhost")
	delete(b.granted[[2]string{queue, user}], vhost)
}

// report writes an object's status, as the operator does.
func (c *cluster) report(u *unstructured.Unstructured, err error) {
	condition := map[string]any{"type": "Ready", "status": "True", "reason": "SuccessfulCreateOrUpdate", "message": ""}
	if err != nil {
		condition["status"], condition["reason"], condition["message"] = "False", "FailedCreateOrUpdate", err.Error()
	}
	before := u.DeepCopy()
	u.SetFinalizers([]string{operatorFinalizer})
	c.must(unstructured.SetNestedSlice(u.Object, []any{condition}, "status", "conditions"))
	c.must(unstructured.SetNestedField(u.Object, u.GetGeneration(), "status", "observedGeneration"))
	if !cmp.Equal(before.Object, u.Object) {
		c.must(c.api.Update(context.Background(), u))
	}
}

// verifyBroker checks that only the user in use and the users of others are left.
func (c *cluster) verifyBroker(t testing.TB) {
	t.Helper()
	candidate, _ := c.nextCredential()
	users, granted := map[[2]string]string{{"rabbitmq", "theirs"}: "x"}, map[[2]string]map[string]bool{}
	for _, p := range c.rotation().Spec.Queue.Permissions {
		at := [2]string{string(p.RabbitMQRef.Name), candidate.id}
		users[at] = candidate.value
		if granted[at] == nil {
			granted[at] = map[string]bool{}
		}
		granted[at][p.Vhost] = true
	}
	maps.DeleteFunc(c.broker.granted, func(_ [2]string, vhosts map[string]bool) bool { return len(vhosts) == 0 })
	if diff := cmp.Diff(users, c.broker.users); diff != "" {
		t.Errorf("users in RabbitMQ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(granted, c.broker.granted); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	var secrets []string
	list := &corev1.SecretList{}
	c.must(c.api.List(context.Background(), list, client.MatchingLabels{rotationLabel: "glance"}))
	for _, s := range list.Items {
		secrets = append(secrets, s.Name)
	}
	var desired []string
	for _, u := range c.brokerObjects("User") {
		named, _, _ := unstructured.NestedString(u.Object, secretOfUser...)
		desired = append(desired, named)
		if !strings.HasPrefix(named, candidate.id+"-") {
			t.Errorf("User %s has Secret %s", u.GetName(), named)
		}
	}
	slices.Sort(desired)
	slices.Sort(secrets)
	if diff := cmp.Diff(desired, secrets); diff != "" {
		t.Errorf("Secrets of Users (-want +got):\n%s", diff)
	}
}

// reconcileUntilStable runs the controller and the simulation until nothing changes.
func (c *cluster) reconcileUntilStable(r *Reconciler) {
	c.t.Helper()
	for range 5 {
		c.run(r)
		c.operator()
	}
}
