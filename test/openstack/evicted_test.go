//go:build openstack && linux

package openstack

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
)

// cordon does what kubectl cordon and uncordon do with a Node, which is there from the first time on.
func (m *machines) cordon(t *testing.T, node string, is bool) {
	t.Helper()
	ctx, api := context.Background(), m.cloud.Cluster.Client
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

// evicted is what the companion says of nodes that are cordoned.
func (m *machines) evicted(t *testing.T) string {
	t.Helper()
	c := &openstackv1.ServiceCheck{}
	key := client.ObjectKey{Namespace: m.cloud.Namespace, Name: m.cloud.Pool().Namespace}
	if err := m.cloud.Cluster.Client.Get(context.Background(), key, c); err != nil {
		t.Fatal(err)
	}
	if is := meta.FindStatusCondition(c.Status.Conditions, "Evicted"); is != nil {
		return is.Reason + ": " + is.Message
	}
	return "nothing"
}

// testEvicted: a node that is cordoned is disabled, and its virtual machine goes elsewhere by itself, with what that costs in pings. When it
// is uncordoned it is enabled again. One that somebody else has disabled is left to him.
func testEvicted(t *testing.T, m *machines, g guest) {
	node, other, before := m.place(t, g).Host, m.otherNode(t, g), m.seconds(t, g)
	begin := time.Now()
	came := pinged(t, g.address, func() {
		m.cordon(t, node, true)
		m.until(t, "that the node is empty", g.server.ID, func() error {
			if p, says := m.place(t, g), m.evicted(t); p.Host != other || p.Task != "" || !strings.HasPrefix(says, "NodesEmpty") {
				return fmt.Errorf("it is %+v; the companion says %s", p, says)
			}
			return nil
		})
	})
	m.lap(t, fmt.Sprintf("%s is empty, %.0f s after it was cordoned: %s", node, time.Since(begin).Seconds(), came))
	if s := m.service(t, node); s.Status != "disabled" || !strings.HasPrefix(s.DisabledReason, "crossplane.c5c3.io") {
		t.Errorf("it is %s: %s", s.Status, s.DisabledReason)
	}
	m.goesOn(t, g, before, other)
	begin = time.Now()
	m.cordon(t, node, false)
	m.until(t, "that the node is enabled", g.server.ID, func() error {
		if s := m.service(t, node); s.Status != "enabled" {
			return fmt.Errorf("it is %s: %s", s.Status, s.DisabledReason)
		}
		return nil
	})
	m.lap(t, fmt.Sprintf("%s is enabled, %.0f s after it was uncordoned", node, time.Since(begin).Seconds()))
	m.takes(t, other, false)
	m.cordon(t, other, true)
	m.until(t, "the companion's word that this is somebody else's", g.server.ID, func() error {
		if says := m.evicted(t); !strings.HasPrefix(says, "Stuck") {
			return fmt.Errorf("it says %s", says)
		}
		return nil
	})
	m.cordon(t, other, false)
	m.until(t, "that nothing is cordoned", g.server.ID, func() error {
		if says := m.evicted(t); !strings.HasPrefix(says, "NoneCordoned") {
			return fmt.Errorf("it says %s", says)
		}
		return nil
	})
	if s, p := m.service(t, other), m.place(t, g); s.Status != "disabled" || p.Host != other {
		t.Errorf("%s is %s (%s), and the virtual machine %+v", other, s.Status, s.DisabledReason, p)
	}
	m.takes(t, other, true)
}
