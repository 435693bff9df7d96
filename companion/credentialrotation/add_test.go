package credentialrotation

import (
	"context"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestCredentialMissing: deleting a rotation changes nothing, and a re-created one continues with the credential.
func TestCredentialMissing(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	before, _ := c.nextCredential()
	c.must(c.api.Delete(context.Background(), c.rotation()))
	if result, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: key("glance")}); err != nil || result.RequeueAfter != 0 {
		t.Errorf("%v, %v", result, err)
	}
	recreated := rotationOf(applicationCredential)
	recreated.UID = "another"
	c.must(c.api.Create(context.Background(), recreated))
	c.run(r)
	if after, _ := c.nextCredential(); after != before || !c.accepts(after) {
		t.Error("does not continue with the existing credential")
	}
}

func TestFindsReferencedSecretsAndConsumers(t *testing.T) {
	r := copied(rotationOf(applicationCredential))
	want := []string{string(r.Spec.SecretName), string(r.Spec.CloudCredentialsRef.SecretName)}
	if got := kind.Secrets(r); !slices.Equal(got, want) {
		t.Errorf("watched Secrets: %v, want %v", got, want)
	}
	if got := kind.Secrets(rotationOf(queueUser)); !slices.Equal(got, want[:1]) {
		t.Errorf("watched Secrets for a queue user: %v, want %v", got, want[:1])
	}
	for name, tc := range map[string]struct {
		kind, name string
		want       bool
	}{
		"ItsConsumer":     {"Deployment", "glance", true},
		"ItsCopy":         {"SecretAggregate", copyName, true},
		"AnotherKind":     {"DaemonSet", "glance", false},
		"AnotherWorkload": {"Deployment", "nova", false},
	} {
		if got := kind.Names(r, tc.kind, tc.name); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAdd wires the controller to a manager without connections.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr); err != nil {
		t.Fatal(err)
	}
}
