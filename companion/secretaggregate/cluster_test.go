package secretaggregate

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const (
	namespace = "team-a-prod-12345"
	target    = "keystone-clouds"
	secret    = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(corev1.AddToScheme, c5c3v1.AddToScheme)

func aggregate() *c5c3v1.SecretAggregate {
	return &c5c3v1.SecretAggregate{
		ObjectMeta: metav1.ObjectMeta{Name: target, Namespace: namespace, UID: "aggregate-uid", Generation: 1},
		Spec: c5c3v1.SecretAggregateSpec{
			TargetSecretName: target,
			Sources:          []c5c3v1.SecretSource{source("password", "keystone-admin", "password"), source("ca", "keystone-tls", "ca.crt")},
			Template:         map[string]c5c3v1.SecretTemplate{"clouds.yaml": "password: {{ .password | quote }}\n", "cacert": "{{ .ca }}"},
		},
	}
}

func secretOf(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name)}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func sources() []client.Object {
	return []client.Object{
		secretOf("keystone-admin", map[string]string{"username": "admin", "password": secret}),
		secretOf("keystone-tls", map[string]string{"ca.crt": "authority"}),
	}
}

// cluster is the environment of a test: the API server, and all output of the controller.
type cluster struct {
	t      testing.TB
	api    client.WithWatch
	events *events.FakeRecorder
	logs   *bytes.Buffer
	random *rand.ChaCha8
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	return &cluster{
		t: t, api: faultinjection.NewServer(scheme, []client.Object{&c5c3v1.SecretAggregate{}}, objects...),
		events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{}, random: rand.NewChaCha8([32]byte{1}),
	}
}

func (c *cluster) reconciler(api client.Client) *Reconciler {
	return &Reconciler{Client: api, Reader: api, Events: c.events, Random: c.random, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9,
		0))}
}

func (c *cluster) pass(r *Reconciler, name string) (reconcile.Result, error) {
	return controllertest.ReconcileLogged(r, key(name), c.logs)
}

// run reconciles until the controller is idle.
func (c *cluster) run(r *Reconciler) {
	c.t.Helper()
	controllertest.ReconcileUntilIdle(c.t, func() (reconcile.Result, error) { return c.pass(r, target) }, controller.ResyncInterval)
}

func (c *cluster) reconcileUntilStable() { c.t.Helper(); c.run(c.reconciler(c.api)) }

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (c *cluster) aggregate() *c5c3v1.SecretAggregate {
	a := &c5c3v1.SecretAggregate{}
	c.must(c.api.Get(context.Background(), key(target), a))
	return a
}

func (c *cluster) ready() metav1.Condition {
	return *meta.FindStatusCondition(c.aggregate().Status.Conditions, conditionReady)
}

// target returns nil if the Secret does not exist.
func (c *cluster) target() *corev1.Secret {
	s := &corev1.Secret{}
	if c.api.Get(context.Background(), key(target), s) != nil {
		return nil
	}
	return s
}

func (c *cluster) update(name string, change func(*corev1.Secret)) {
	c.t.Helper()
	s := &corev1.Secret{}
	c.must(c.api.Get(context.Background(), key(name), s))
	change(s)
	c.must(c.api.Update(context.Background(), s))
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// output returns the entire output of the controller, except for the Secret.
func (c *cluster) output() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%+v %s", c.aggregate().Status, c.logs)
	out.WriteString(strings.Join(controllertest.Events(c.events), ""))
	return out.String()
}

// finalizers are K-ORC's finalizers on the Secret with which its objects log in: one per kind.
var finalizers = []string{"openstack.k-orc.cloud/project", "openstack.k-orc.cloud/user"}

// korc simulates K-ORC with or without objects.
func (c *cluster) korc(objects bool) {
	s := c.target()
	switch {
	case s == nil, objects && (s.DeletionTimestamp != nil || len(s.Finalizers) > 0), !objects && len(s.Finalizers) == 0:
		return
	case objects:
		s.Finalizers = finalizers
	default:
		s.Finalizers = nil
	}
	c.must(c.api.Update(context.Background(), s))
}
