//go:build openstack && linux

package keystone

import (
	"context"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// Repository returns a KeyRepository and the keys in its Secret.
func Repository(t testing.TB, c *clouds.Cloud, name string) (*openstackv1.KeyRepository, keys.Set) {
	t.Helper()
	r := &openstackv1.KeyRepository{}
	if err := c.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: c.Namespace, Name: name}, r); err != nil {
		t.Fatal(err)
	}
	data, err := c.Operators.Secret(context.Background(), c.Namespace, string(r.Spec.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	set, err := keys.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return r, set
}

// Rotated waits until the companion has rotated keys and has verified that every pod has them.
func Rotated(t testing.TB, c *clouds.Cloud, name string, after int) keys.Set {
	t.Helper()
	var set keys.Set
	err := c.Cluster.Wait(context.Background(), 3*time.Minute, "a rotation of "+name, func(context.Context) (bool, error) {
		var r *openstackv1.KeyRepository
		r, set = Repository(t, c, name)
		return set.Primary() > after && apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed"), nil
	})
	if err != nil {
		r, _ := Repository(t, c, name)
		t.Fatalf("%v\n%+v", err, r.Status)
	}
	return set
}
