//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// controlPlanePods are the pods whose loss could affect hypervisors: their cell's conductor and queue, OVN's southbound
// database, which has one member here, the leader, and the database of all services.
var controlPlanePods = []string{"nova-cell1-conductor-0", "rabbitmq-server-0", "ovn-southbound-0", "mariadb-0"}

// testOutages kills each of these while a server is pinged, which is not affected. The hypervisors recover without
// intervention.
func testOutages(t *testing.T, m *Machines, g Guest) {
	var table strings.Builder
	for _, name := range controlPlanePods {
		t.Run(name, func(t *testing.T) {
			before, back := m.Seconds(t, g), time.Duration(0)
			came := harness.Ping(t, g.Address, func() {
				began := time.Now()
				m.killed(t, name)
				for n := range m.nodes {
					node := fmt.Sprintf("node-%d", n)
					m.Until(t, "a report of "+node, g.Server.ID, func() error {
						s, err := m.serviceOf(node)
						if err == nil && (s.State != "up" || s.UpdatedAt.Before(began)) {
							err = fmt.Errorf("it is %s, according to its report at %s", s.State, s.UpdatedAt)
						}
						return err
					})
				}
				back = time.Since(began)
			})
			fmt.Fprintf(&table, "\n%-24s %s; the hypervisors have reported after %.0f s", name, came, back.Seconds())
			if came.Lost > 0 {
				t.Errorf("%s", came)
			}
			if after := m.Seconds(t, g); after <= before {
				t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", before, after)
			}
		})
	}
	t.Log(table.String())
}

// killed kills a pod of the control plane, and waits until another one is ready.
func (m *Machines) killed(t *testing.T, name string) {
	t.Helper()
	pod := func(ctx context.Context) (*corev1.Pod, error) {
		p := &corev1.Pod{}
		return p, m.Cloud.Cluster.Client.Get(ctx, types.NamespacedName{Namespace: m.Cloud.Namespace, Name: name}, p)
	}
	before, err := pod(context.Background())
	if err == nil {
		err = m.Cloud.Cluster.Kill(m.Cloud.Namespace, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "another pod "+name, func(ctx context.Context) (bool, error) {
		now, err := pod(ctx)
		return err == nil && now.UID != before.UID && slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
