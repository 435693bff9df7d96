package keyrepository

import (
	"context"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestAdd wires the controller to a manager without connections.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr); err != nil {
		t.Fatal(err)
	}
}

func TestFindsReferencedSecretsAndConsumers(t *testing.T) {
	repo := fernet()
	if got := kind.Secrets(repo); !slices.Equal(got, []string{secretName}) {
		t.Errorf("watched Secrets: %v", got)
	}
	for name, tc := range map[string]struct {
		kind, name string
		want       bool
	}{
		"ItsConsumer":     {"Deployment", "keystone", true},
		"AnotherKind":     {"StatefulSet", "keystone", false},
		"AnotherWorkload": {"Deployment", secretName, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kind.Names(repo, tc.kind, tc.name); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestMetrics checks that a KeyRepository's metrics are created and deleted with it.
func TestMetrics(t *testing.T) {
	count := func() int { return len(controllertest.Series(t, metrics, "keystone-fernet-keys")) }
	before := count()
	c, r := start(t, fernet())
	if count() == 0 {
		t.Fatal("no metrics")
	}
	request := c.request()
	c.Must(c.API.Delete(context.Background(), &openstackv1.KeyRepository{ObjectMeta: c.repo().ObjectMeta}))
	if _, err := r.Reconcile(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if after := count(); after != 0 {
		t.Errorf("%d series before, %d after", before, after)
	}
}
