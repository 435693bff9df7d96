package nodemaintenance

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	pool      = "team-a-pool-54321"
	name      = "replace-fan"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(corev1.AddToScheme, openstackv1.AddToScheme)

// cluster is the environment of the controller: a pool with two nodes.
type cluster struct {
	t      testing.TB
	api    client.WithWatch
	nova   *computetest.Nova
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
}

// server is a server of a test with its properties.
type server struct {
	compute.Server
	computetest.Details
}

func runs(id string) server {
	return server{
		compute.Server{ID: id, Name: "name of " + id, Status: "ACTIVE"},
		computetest.Details{MemoryMiB: 1000, DiskGiB: 10, BootsFromVolume: true},
	}
}

func (s server) in(status string) server {
	s.Status = status
	return s
}

// wants sets the metadata of the server.
func (s server) wants(value string) server {
	s.Metadata = map[string]string{metadataKey: value}
	return s
}

func (s server) with(change func(*server)) server {
	change(&s)
	return s
}

// newCluster returns a pool whose first node has the given servers, and an order for it.
func newCluster(t testing.TB, servers ...server) *cluster {
	t.Helper()
	check := &openstackv1.ServiceCheck{
		ObjectMeta: metav1.ObjectMeta{Name: pool, Namespace: namespace},
		Spec:       openstackv1.ServiceCheckSpec{Service: "compute"},
		Status: openstackv1.ServiceCheckStatus{Nodes: []openstackv1.NodeRecord{
			{Name: "node-1", Provider: "rp-of-node-1"}, {Name: "node-2", Provider: "rp-of-node-2"},
		}},
	}
	check.Spec.CloudCredentialsRef.SecretName, check.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	c := &cluster{
		t: t, nova: computetest.New(identitytest.New(map[string]string{"admin": password})),
		api: faultinjection.NewServer(scheme, []client.Object{&openstackv1.NodeMaintenance{}}, check, identitytest.Clouds(namespace, "clouds", password),
			order(name, "node-1")),
		clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), events: events.NewFakeRecorder(100000),
	}
	var hypervisors []computetest.Hypervisor
	var services []compute.Service
	for _, node := range []string{"node-1", "node-2"} {
		hypervisors = append(hypervisors, computetest.Hypervisor{Host: node, Provider: "rp-of-" + node})
		services = append(services, compute.Service{ID: "id-of-" + node, Binary: compute.Compute, Host: node, Up: true})
	}
	c.nova.Set(services...)
	c.nova.SetHypervisors(hypervisors...)
	c.place("node-1", servers...)
	return c
}

// order returns a NodeMaintenance with the defaults of its schema.
func order(name, node string) *openstackv1.NodeMaintenance {
	return &openstackv1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec: openstackv1.NodeMaintenanceSpec{
			NodeName: common.ObjectName(node), ServiceCheckName: pool, Mode: openstackv1.MaintenancePlan, ParallelServers: 1,
			Order: openstackv1.SmallestFirst, ServerMetadata: openstackv1.HonorMetadata,
		},
	}
}

// place replaces the servers of a node.
func (c *cluster) place(node string, servers ...server) {
	all := c.nova.Hypervisors()
	for i := range all {
		if all[i].Host == node {
			all[i].Servers = nil
		}
		if all[i].Details == nil {
			all[i].Details = map[string]computetest.Details{}
		}
	}
	for i := range all {
		for _, s := range servers {
			if all[i].Host == node {
				all[i].Servers = append(all[i].Servers, s.Server)
			}
			all[i].Details[s.ID] = s.Details // A server that moves keeps its properties.
		}
	}
	c.nova.SetHypervisors(all...)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.clock, Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api, c.nova) }

func (c *cluster) pass(r *Reconciler) (reconcile.Result, error) {
	return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
}

// order returns an order; nil if it does not exist.
func (c *cluster) order(name string) *openstackv1.NodeMaintenance {
	o := &openstackv1.NodeMaintenance{}
	if c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o) != nil {
		return nil
	}
	return o
}

// edit changes the spec of the order.
func (c *cluster) edit(change func(*openstackv1.NodeMaintenanceSpec)) {
	c.t.Helper()
	o := c.order(name)
	change(&o.Spec)
	o.Generation++
	c.must(c.api.Update(context.Background(), o))
}

// condition returns a condition of the order as text.
func (c *cluster) condition(kind string) string {
	got := meta.FindStatusCondition(c.order(name).Status.Conditions, kind)
	if got == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message)
}
