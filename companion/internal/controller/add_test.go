package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestBackoff: the time between failed passes has the limit of the kind.
func TestBackoff(t *testing.T) {
	k := testKind(nil)
	if k.options().RateLimiter != nil {
		t.Error("a kind without a limit has its own backoff")
	}
	k.LongestBackoff = Poll
	limiter := k.options().RateLimiter
	last := limiter.When(reconcile.Request{})
	if last != shortestBackoff {
		t.Errorf("first %s", last)
	}
	for range 40 {
		last = limiter.When(reconcile.Request{})
	}
	if last != Poll {
		t.Errorf("last %s", last)
	}
}

// TestRequests: a consumer triggers the objects in its namespace that reference it.
func TestRequests(t *testing.T) {
	k := testKind(nil)
	k.Names = func(o *object, kind, name string) bool {
		return kind == "Deployment" && o.Annotations["consumer"] == name
	}
	named := func(namespace, name, consumer string) *object {
		return &object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"consumer": consumer}}}
	}
	writes := 0
	api := server(nil, &writes, named("cloud", "a", "glance"), named("cloud", "b", "nova"), named("elsewhere", "c", "glance"), named("cloud",
		"d", "glance"))
	consumer := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "glance"}}
	request := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "cloud", Name: name}}
	}
	if diff := cmp.Diff([]reconcile.Request{request("a"), request("d")}, k.requests(api, "Deployment")(t.Context(), consumer)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := k.requests(api, "StatefulSet")(t.Context(), consumer); len(got) != 0 {
		t.Errorf("one of another kind wakes %v", got)
	}
	broken := interceptor.NewClient(api, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errTest },
	})
	if got := k.requests(broken, "Deployment")(t.Context(), consumer); len(got) != 0 {
		t.Errorf("after a failed list, these are triggered: %v", got)
	}
}

// TestAdd: an error in the dependencies of a controller is reported at the start of the program.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	k := testKind(nil)
	k.Metrics = NewMetrics("added")
	if err := k.Add(mgr, func(*Env) error { return errTest }); !errors.Is(err, errTest) {
		t.Errorf("%v", err)
	}
	if err := k.Add(mgr); err == nil {
		t.Error("registered its metrics twice")
	}
	k.Metrics, k.Consumers = NewMetrics("stranger"), []client.Object{&corev1.Pod{}}
	if err := k.Add(mgr); err == nil {
		t.Error("watches a kind that the scheme does not know")
	}
	k.Metrics, k.Consumers = NewMetrics("added_at_last"), nil
	k.Secrets = func(*object) []string { return nil }
	var env *Env
	if err := k.Add(mgr, func(e *Env) error {
		env = e
		if e.Client == nil || e.Reader == nil || e.Transport == nil || e.Public == nil || e.Events == nil || e.Clock == nil || e.Random == nil {
			t.Errorf("%+v", e)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if env.Secrets == nil {
		t.Error("its Secrets are not watched")
	}
}
