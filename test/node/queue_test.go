//go:build node && linux

package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	kubeobject "github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// TestQueueIsTrustedByOperator checks that RabbitMQ's operator trusts the certificate of a queue that was created after the operator had
// started, and creates a service's objects in it.
func TestQueueIsTrustedByOperator(t *testing.T) {
	t.Parallel()
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	claim := order(ctx, t, "testdata/queue.yaml")
	namespace := instance(ctx, t, claim)
	testAccount(ctx, t, namespace)
	testDelete(ctx, t, claim, namespace)
}

// testAccount creates a virtual host and a user that may use it, and deletes them.
func testAccount(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe-queue", Labels: map[string]string{}},
		StringData: map[string]string{"username": "probe", "password": "only for this test"},
	}
	for name, value := range rabbitmq.Watched() {
		credentials.Labels[name] = fmt.Sprint(value)
	}
	if err := cluster.Client.Create(ctx, credentials); err != nil {
		t.Fatal(err)
	}
	a := rabbitmq.Account{
		Meta: kubeobject.Meta{Name: "probe", Namespace: namespace}, Broker: common.Broker{RabbitMQRef: common.LocalReference{Name: "rabbitmq"}}, Secret: credentials.Name, DeleteData: true,
	}
	started := time.Now()
	all := []*unstructured.Unstructured{a.VirtualHost(), a.User(), a.Permission()}
	for _, o := range all {
		apply(ctx, t, o.DeepCopy())
		if err := cluster.WaitCondition(ctx, o.GroupVersionKind(), client.ObjectKeyFromObject(o), "Ready"); err != nil {
			t.Fatal(err)
		}
		t.Logf("  %4.1f s  %s", time.Since(started).Seconds(), o.GetKind())
	}
	for _, o := range all {
		if err := cluster.Client.Delete(ctx, o.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(ctx, t, time.Minute, func() error {
		for _, o := range all {
			if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy()); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is still there: %w", o.GetKind(), err)
			}
		}
		return nil
	})
}
