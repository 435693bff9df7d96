package roleassignment

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc/korctest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "glance-service"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(corev1.AddToScheme, openstackv1.AddToScheme, korctest.AddToScheme("Role", "User", "Group", "Project", "Domain"))

// cluster is the environment of the controller, with all of its output.
type cluster struct {
	t        testing.TB
	api      client.WithWatch
	keystone *identitytest.Keystone
	events   *events.FakeRecorder
	logs     *bytes.Buffer
	// onPassEnd is called after each pass.
	onPassEnd func()
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	return &cluster{
		t: t, keystone: identitytest.New(map[string]string{"admin": password}),
		api:    faultinjection.NewServer(scheme, []client.Object{&openstackv1.RoleAssignment{}}, objects...),
		events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{}, onPassEnd: func() {},
	}
}

// known returns an object of K-ORC.
func known(kind, name, id string) *unstructured.Unstructured {
	return korctest.Object(kind, namespace, name, id)
}

func assignment(change func(*openstackv1.RoleAssignment)) *openstackv1.RoleAssignment {
	a := &openstackv1.RoleAssignment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec: openstackv1.RoleAssignmentSpec{
			Resource: openstackv1.RoleAssignmentResource{RoleRef: "service", UserRef: "glance", ProjectRef: "service"},
		},
	}
	a.Spec.CloudCredentialsRef.SecretName, a.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	if change != nil {
		change(a)
	}
	return a
}

func clouds() client.Object { return identitytest.Clouds(namespace, "clouds", password) }

// reconciler returns a Reconciler with a client and a transport to Keystone.
func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)),
		Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api, c.keystone) }

func (c *cluster) pass(r *Reconciler) (reconcile.Result, error) {
	result, err := controllertest.ReconcileLogged(r, client.ObjectKey{Namespace: namespace, Name: name}, c.logs)
	c.onPassEnd()
	return result, err
}

// run reconciles until the controller is idle, or has waited three times.
func (c *cluster) run(r *Reconciler) {
	c.t.Helper()
	controllertest.ReconcileUntilIdle(c.t, func() (reconcile.Result, error) { return c.pass(r) }, controller.ResyncInterval, 0)
}

// assignment returns nil if the object does not exist.
func (c *cluster) assignment() *openstackv1.RoleAssignment {
	a := &openstackv1.RoleAssignment{}
	if c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, a) != nil {
		return nil
	}
	return a
}

func (c *cluster) available() metav1.Condition {
	if condition := meta.FindStatusCondition(c.assignment().Status.Conditions, conditionAvailable); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
