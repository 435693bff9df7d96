//go:build openstack && linux

package hypervisors

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// Seconds returns the seconds that the server has counted since its start.
func (m *Machines) Seconds(t *testing.T, g Guest) int {
	t.Helper()
	text, err := g.Get("seconds")
	n, e := strconv.Atoi(text)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	return n
}

// ReplacePod stops the pod of a component of the node as Kubernetes does, and waits until another one is ready.
func (m *Machines) ReplacePod(t *testing.T, component string) {
	t.Helper()
	pods := m.Pods(t, component)
	if len(pods) != 1 {
		t.Fatalf("%s has %d pods", component, len(pods))
	}
	if err := m.Cloud.Cluster.Evict(pods[0].Namespace, pods[0].Name); err != nil {
		t.Fatal(err)
	}
	err := m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "another pod of "+component, func(context.Context) (bool, error) {
		now := m.Pods(t, component)
		return len(now) == 1 && now[0].UID != pods[0].UID && slices.ContainsFunc(now[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// CheckSecondServer checks that replaced pods can still start a server, and delete it.
func CheckSecondServer(t *testing.T, m *Machines, g Guest) {
	ctx := context.Background()
	port := harness.Created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, m.Neutron.ServiceClient, ports.CreateOpts{NetworkID: g.Port.NetworkID, Name: "second"}).Extract()
	})
	s, err := servers.Create(ctx, m.ServiceClient, servers.CreateOpts{
		Name: "second", FlavorRef: m.Flavor, ImageRef: m.Image, Networks: []servers.Network{{Port: port.ID}},
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WaitForServer(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "nova-compute"))
	}
	m.Until(t, "the output of the second server", s.ID, func() error {
		text, err := servers.ShowConsoleOutput(ctx, m.ServiceClient, s.ID, servers.ShowConsoleOutputOpts{}).Extract()
		if err == nil && !strings.Contains(text, s.ID) {
			err = errors.New("it has no metadata yet")
		}
		return err
	})
	if err := m.DeleteServer(ctx, s.ID); err != nil {
		t.Error(err)
	}
}
