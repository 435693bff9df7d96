package computecatalog

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "nova"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

type specs = map[string]common.ComputeProperty

// cluster is the environment of the controller.
type cluster struct {
	t      testing.TB
	api    client.WithWatch
	nova   *computetest.Nova
	events *events.FakeRecorder
	// onPassEnd is called after each pass.
	onPassEnd func()
}

func newCluster(t testing.TB, flavors []common.Flavor, aggregates []common.HostAggregate) *cluster {
	t.Helper()
	c := &openstackv1.ComputeCatalog{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec:       openstackv1.ComputeCatalogSpec{Flavors: flavors, Aggregates: aggregates},
	}
	c.Spec.CloudCredentialsRef.SecretName, c.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	out := &cluster{
		t: t, nova: computetest.New(identitytest.New(map[string]string{"admin": password})), events: events.NewFakeRecorder(10000),
		api:       faultinjection.NewServer(scheme, []client.Object{&openstackv1.ComputeCatalog{}}, c, identitytest.Clouds(namespace, "clouds", password)),
		onPassEnd: func() {},
	}
	out.report("east-1", "east-2", "west-1")
	return out
}

// report sets the registered hypervisors.
func (c *cluster) report(hosts ...string) {
	var all []compute.Service
	for _, host := range hosts {
		all = append(all, compute.Service{ID: "id-of-" + host, Binary: compute.Compute, Host: host, Up: true})
	}
	c.nova.Set(all...)
}

func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)),
		Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api, c.nova) }

// run reconciles until the controller is idle, or has waited three times.
func (c *cluster) run(r *Reconciler) {
	c.t.Helper()
	controllertest.ReconcileUntilIdle(c.t, func() (reconcile.Result, error) {
		defer c.onPassEnd()
		return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	}, pollInterval)
}

func (c *cluster) catalog() *openstackv1.ComputeCatalog {
	c.t.Helper()
	out := &openstackv1.ComputeCatalog{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// edit changes the spec, as a change of a claim does.
func (c *cluster) edit(change func(*openstackv1.ComputeCatalogSpec)) {
	c.t.Helper()
	o := c.catalog()
	change(&o.Spec)
	o.Generation++
	if err := c.api.Update(context.Background(), o); err != nil {
		c.t.Fatal(err)
	}
}

// state returns the condition as a string.
func (c *cluster) state() string {
	got := meta.FindStatusCondition(c.catalog().Status.Conditions, conditionReady)
	if got == nil {
		return ""
	}
	return string(got.Status) + " " + got.Reason + ": " + got.Message
}

// size returns a flavor with one core.
func size(name string, change func(*common.Flavor)) common.Flavor {
	f := common.Flavor{Name: name, VCPUs: 1, MemoryMiB: 512}
	if change != nil {
		change(&f)
	}
	return f
}

// flavors returns the flavors in Nova with their relevant fields.
func (c *cluster) flavors() map[string]common.Flavor {
	out := map[string]common.Flavor{}
	for _, f := range c.nova.Flavors() {
		if len(f.ExtraSpecs) == 0 {
			f.ExtraSpecs = nil
		}
		out[f.Name] = f
	}
	return out
}

func (c *cluster) aggregates() map[string]common.HostAggregate {
	out := map[string]common.HostAggregate{}
	for _, g := range c.nova.Aggregates() {
		if len(g.Metadata) == 0 {
			g.Metadata = nil
		}
		if len(g.Hosts) == 0 {
			g.Hosts = nil
		}
		slices.Sort(g.Hosts)
		out[g.Name] = g.HostAggregate
	}
	return out
}
