//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// cordon cordons or uncordons a Node, as kubectl does; the first call creates it.
func (m *Machines) cordon(t *testing.T, node string, is bool) {
	t.Helper()
	ctx, api := context.Background(), m.Cloud.Cluster.Client
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if err := api.Get(ctx, client.ObjectKeyFromObject(n), n); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if err != nil {
		if err := api.Create(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	n.Spec.Unschedulable = is
	if err := api.Update(ctx, n); err != nil {
		t.Fatal(err)
	}
}

// evicted returns the companion's report about cordoned nodes.
func (m *Machines) evicted(t *testing.T) string {
	t.Helper()
	c := &openstackv1.ServiceCheck{}
	key := client.ObjectKey{Namespace: m.Cloud.Namespace, Name: m.Cloud.Pool().Namespace}
	if err := m.Cloud.Cluster.Client.Get(context.Background(), key, c); err != nil {
		t.Fatal(err)
	}
	if is := meta.FindStatusCondition(c.Status.Conditions, "CordonedNodesEvacuated"); is != nil {
		return is.Reason + ": " + is.Message
	}
	return "nothing"
}

// testEvicted checks that a cordoned node is disabled and its server live-migrated automatically, with the measured
// loss of pings, and that an uncordoned node is enabled again. A node that a user has disabled is not enabled.
func testEvicted(t *testing.T, m *Machines, g Guest) {
	node, other, before := m.Place(t, g).Host, m.OtherNode(t, g), m.Seconds(t, g)
	began := time.Now()
	came := harness.Ping(t, g.Address, func() {
		m.cordon(t, node, true)
		m.Until(t, "that the node is empty", g.Server.ID, func() error {
			if p, report := m.Place(t, g), m.evicted(t); p.Host != other || p.Task != "" || !strings.HasPrefix(report, "NodesEmpty") {
				return fmt.Errorf("it is %+v; the companion reports %s", p, report)
			}
			return nil
		})
	})
	m.Lap(t, fmt.Sprintf("%s is empty, %.0f s after it was cordoned: %s", node, time.Since(began).Seconds(), came))
	if s := m.service(t, node); s.Status != "disabled" || !strings.HasPrefix(s.DisabledReason, "crossplane.c5c3.io") {
		t.Errorf("it is %s: %s", s.Status, s.DisabledReason)
	}
	m.CheckRunning(t, g, before, other)
	began = time.Now()
	m.cordon(t, node, false)
	m.Until(t, "that the node is enabled", g.Server.ID, func() error {
		if s := m.service(t, node); s.Status != "enabled" {
			return fmt.Errorf("it is %s: %s", s.Status, s.DisabledReason)
		}
		return nil
	})
	m.Lap(t, fmt.Sprintf("%s is enabled, %.0f s after it was uncordoned", node, time.Since(began).Seconds()))
	m.setEnabled(t, other, false)
	m.cordon(t, other, true)
	m.Until(t, "the companion's report that a user disabled it", g.Server.ID, func() error {
		if report := m.evicted(t); !strings.HasPrefix(report, "Stuck") {
			return fmt.Errorf("it reports %s", report)
		}
		return nil
	})
	m.cordon(t, other, false)
	m.Until(t, "that nothing is cordoned", g.Server.ID, func() error {
		if report := m.evicted(t); !strings.HasPrefix(report, "NoNodesCordoned") {
			return fmt.Errorf("it reports %s", report)
		}
		return nil
	})
	if s, p := m.service(t, other), m.Place(t, g); s.Status != "disabled" || p.Host != other {
		t.Errorf("%s is %s (%s), and the virtual machine %+v", other, s.Status, s.DisabledReason, p)
	}
	m.setEnabled(t, other, true)
}
