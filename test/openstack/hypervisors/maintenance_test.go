//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// testMaintenance orders the maintenance of a node. A server that must not move blocks it, with its name in the condition. Then the
// server is live-migrated as planned, and the node returns to service after its reboot. An order that is deleted half-way enables the node.
func testMaintenance(t *testing.T, m *Machines, g Guest) {
	node, other, before := m.Place(t, g).Host, m.OtherNode(t, g), m.Seconds(t, g)
	m.boot(t, node, "first")
	m.mark(t, g, "never")
	o := m.order(t, node)
	m.untilPlanned(t, g, o, 1)
	if why := meta.FindStatusCondition(o.Status.Conditions, "Unblocked"); why == nil || why.Status != metav1.ConditionFalse ||
		!strings.Contains(why.Message, g.Server.Name) {
		t.Errorf("server %s must not move: %+v", g.Server.Name, o.Status.Conditions)
	}
	m.mark(t, g, "live")
	m.untilPlanned(t, g, o, 0)
	want := []openstackv1.PlannedServer{{ID: g.Server.ID, Name: g.Server.Name, Status: "ACTIVE", Method: openstackv1.MoveLive}}
	planned := o.Status.Plan.Servers
	for i := range planned {
		m.Lap(t, fmt.Sprintf("server %s is planned to move in %d s", planned[i].Name, planned[i].EstimatedSeconds))
		planned[i].EstimatedSeconds = 0
	}
	if diff := cmp.Diff(want, planned); diff != "" {
		t.Errorf("plan of a node with one server (-want +got):\n%s", diff)
	}
	if s := m.service(t, node); s.Status != "enabled" {
		t.Errorf("a plan must change nothing, and nova-compute is %s: %s", s.Status, s.DisabledReason)
	}
	began := time.Now()
	came := harness.Ping(t, g.Address, func() {
		m.setMode(t, o, openstackv1.MaintenanceDrain)
		m.untilState(t, g, o, openstackv1.MaintenanceDrained)
	})
	m.Lap(t, fmt.Sprintf("%s is drained after %.0f s: %s", node, time.Since(began).Seconds(), came))
	m.CheckRunning(t, g, before, other)
	if s := m.service(t, node); s.Status != "disabled" || !strings.Contains(s.DisabledReason, o.Name) {
		t.Errorf("a drained node is %s: %s", s.Status, s.DisabledReason)
	}
	began = time.Now()
	m.boot(t, node, "second")
	m.untilState(t, g, o, openstackv1.MaintenanceInService)
	m.Lap(t, fmt.Sprintf("%s is in service, %.0f s after its reboot", node, time.Since(began).Seconds()))
	if s := m.service(t, node); s.Status != "enabled" {
		t.Errorf("a node in service is %s: %s", s.Status, s.DisabledReason)
	}
	m.cancel(t, g, o)

	back := m.order(t, other)
	m.setMode(t, back, openstackv1.MaintenanceDrain)
	m.Until(t, "that the other node is disabled", g.Server.ID, func() error {
		if s := m.service(t, other); s.Status != "disabled" {
			return fmt.Errorf("it is %s", s.Status)
		}
		return nil
	})
	m.cancel(t, g, back)
	if s := m.service(t, other); s.Status != "enabled" {
		t.Errorf("a node with a cancelled maintenance is %s: %s", s.Status, s.DisabledReason)
	}
	m.Until(t, "that no migration is in progress", g.Server.ID, func() error {
		if p := m.Place(t, g); p.Task != "" || p.Status != "ACTIVE" {
			return fmt.Errorf("it is %+v", p)
		}
		return nil
	})
	m.unmark(t, g)
}

// boot reports a boot of a node, as its kubelet does.
func (m *Machines) boot(t *testing.T, node, id string) {
	t.Helper()
	ctx, api, n := context.Background(), m.Cloud.Cluster.Client, &corev1.Node{}
	if err := api.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
		t.Fatal(err)
	}
	n.Status.NodeInfo.BootID = id
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	if err := api.Status().Update(ctx, n); err != nil {
		t.Fatal(err)
	}
}

// mark sets the metadata of a server that selects how it moves.
func (m *Machines) mark(t *testing.T, g Guest, maintenance string) {
	t.Helper()
	set := servers.MetadataOpts{"maintenance": maintenance}
	if _, err := servers.UpdateMetadata(context.Background(), m.ServiceClient, g.Server.ID, set).Extract(); err != nil {
		t.Fatal(err)
	}
}

func (m *Machines) unmark(t *testing.T, g Guest) {
	t.Helper()
	if err := servers.DeleteMetadatum(context.Background(), m.ServiceClient, g.Server.ID, "maintenance").ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

// order creates a NodeMaintenance that starts without changes, with the defaults of the API server.
func (m *Machines) order(t *testing.T, node string) *openstackv1.NodeMaintenance {
	t.Helper()
	o := &openstackv1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Cloud.Namespace, Name: "update-" + node},
		Spec: openstackv1.NodeMaintenanceSpec{
			NodeName: common.ObjectName(node), ServiceCheckName: common.ObjectName(m.Cloud.Pool().Namespace), Mode: openstackv1.MaintenancePlan,
			ParallelServers: 1, MaxNodes: 1, ServerTimeoutSeconds: 3600, Order: openstackv1.SmallestFirst, ServerMetadata: openstackv1.HonorMetadata,
		},
	}
	if err := m.Cloud.Cluster.Client.Create(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// setMode changes the mode of an order, whose status the companion writes at the same time.
func (m *Machines) setMode(t *testing.T, o *openstackv1.NodeMaintenance, mode openstackv1.MaintenanceMode) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode))
	if err := m.Cloud.Cluster.Client.Patch(context.Background(), o, patch); err != nil {
		t.Fatal(err)
	}
}

// untilState waits for a state of an order, and reads the order.
func (m *Machines) untilState(t *testing.T, g Guest, o *openstackv1.NodeMaintenance, state openstackv1.MaintenanceState) {
	t.Helper()
	m.Until(t, "that the order is "+string(state), g.Server.ID, func() error {
		if err := m.Cloud.Cluster.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if o.Status.State != state {
			return fmt.Errorf("it is %s: %+v", o.Status.State, o.Status.Conditions)
		}
		return nil
	})
}

// untilPlanned waits for a plan of one server, with a number of servers that block the maintenance.
func (m *Machines) untilPlanned(t *testing.T, g Guest, o *openstackv1.NodeMaintenance, blocked int32) {
	t.Helper()
	m.Until(t, "a plan", g.Server.ID, func() error {
		if err := m.Cloud.Cluster.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if p := o.Status.Plan; o.Status.State != openstackv1.MaintenancePlanned || p == nil || p.ServerCount != 1 || p.BlockedCount != blocked {
			return fmt.Errorf("it is %+v", o.Status)
		}
		return nil
	})
}

// cancel deletes an order, and waits until the companion has removed its finalizer.
func (m *Machines) cancel(t *testing.T, g Guest, o *openstackv1.NodeMaintenance) {
	t.Helper()
	ctx, api := context.Background(), m.Cloud.Cluster.Client
	if err := api.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	m.Until(t, "that the order is deleted", g.Server.ID, func() error {
		err := api.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("it exists: %+v", o.Status)
		}
		return client.IgnoreNotFound(err)
	})
}
