//go:build openstack && linux

package openstack

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestHypervisorsUpgrade upgrades a cloud from one SLURP release to the next, the control plane first and its
// hypervisors afterwards. A server is pinged all the time, and clients use the APIs; no request fails.
func TestHypervisorsUpgrade(t *testing.T) {
	const end, number = "-up", 8
	m := startMachines(t, pairs(of(t, "compute.yaml", before, end)), of(t, "hypervisors.yaml", before, end), number)
	g := m.boot(t)
	m.upgraded(t, g, pairs(of(t, "compute.yaml", after, end)), cloudUsed(t, m, g), "keystone", "placement", "glance")
	t.Run("Metadata", func(t *testing.T) { testGuestMetadata(t, m, g) })
	t.Run("Second", func(t *testing.T) { testSecond(t, m, g) })
	t.Run("Delete", func(t *testing.T) { testDelete(t, m, g) })
}

// upgraded upgrades a cloud, and afterwards its hypervisors, to the next SLURP release, while a server is pinged and
// clients send requests, none of which fails.
func (m *machines) upgraded(t *testing.T, g guest, plane []byte, load *load, services ...string) {
	t.Helper()
	counted := m.seconds(t, g)
	load.more(t, 10)
	m.pinged(t, g, "control plane", func() {
		upgrade(t, m.cloud, plane, after, services...)
		for _, schema := range []string{"nova-api", "nova-cell0", "nova-cell1", "neutron"} {
			checkContracted(t, m.cloud, schema, after)
		}
		checkImages(t, m.cloud, novav1.ServiceName, after)
		checkImages(t, m.cloud, neutronv1.ServiceName, after)
		load.more(t, 20)
	})
	m.runs(t, "nova-compute", novav1.ServiceName, before)
	m.runs(t, "metadata", neutronv1.ServiceName, before)
	m.pinged(t, g, "hypervisors", func() {
		if err := m.cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		m.runs(t, "nova-compute", novav1.ServiceName, after)
		m.runs(t, "metadata", neutronv1.ServiceName, after)
		load.more(t, 20)
	})
	load.stop(t)
	t.Logf("clients of all services: %s", load)
	if now := m.seconds(t, g); now <= counted {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", counted, now)
	}
}

// pairs adds a second pod of Glance to a claim, so that its pods are replaced one after the other.
func pairs(claim []byte) []byte {
	return bytes.Replace(claim, []byte("    glance:\n"), []byte("    glance:\n      replicas: 2\n"), 1)
}

// pinged runs a step of an upgrade while a server is pinged, which must not be interrupted.
func (m *machines) pinged(t *testing.T, g guest, step string, during func()) {
	t.Helper()
	began := time.Now()
	came := pinged(t, g.address, during)
	t.Logf("%s: %.0f s, %s", step, time.Since(began).Seconds(), came)
	if came.Lost > 0 {
		t.Errorf("%s: %s", step, came)
	}
}

// runs waits until the pod of a component of the node is ready, and has a service's release.
func (m *machines) runs(t *testing.T, component, service string, r release.Release) {
	t.Helper()
	version, err := r.Version(service)
	if err != nil {
		t.Fatal(err)
	}
	m.until(t, component+" of "+string(r), "", func() error {
		pods := m.pods(t, component)
		if len(pods) != 1 {
			return fmt.Errorf("there are %d pods", len(pods))
		}
		if image := pods[0].Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
			return fmt.Errorf("its image is %s", image)
		}
		for _, c := range pods[0].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%s is not ready", pods[0].Name)
	})
}

// cloudUsed starts two clients that log in, list images, show a server, and create and delete a port: a request to each
// of the services that a server needs.
func cloudUsed(t *testing.T, m *machines, g guest) *load {
	t.Helper()
	c := clientOf(t, m.cloud, false)
	return startClients(t, 2, func(ctx context.Context, client, round int, try request) error {
		if err := try("log in", func() error { _, err := c.Issue(ctx, c.Admin); return err }); err != nil {
			return err
		}
		if err := try("list images", func() error {
			_, err := images.List(m.glance.ServiceClient, nil).AllPages(ctx)
			return err
		}); err != nil {
			return err
		}
		if err := try("show the virtual machine", func() error {
			s, err := servers.Get(ctx, m.ServiceClient, g.server.ID).Extract()
			if err == nil && s.Status != "ACTIVE" {
				err = fmt.Errorf("it is %s", s.Status)
			}
			return err
		}); err != nil {
			return err
		}
		id := ""
		if err := try("make a port", func() error {
			p, err := ports.Create(ctx, m.neutron.ServiceClient, ports.CreateOpts{
				NetworkID: g.port.NetworkID, Name: fmt.Sprintf("load-%d-%d", client, round),
			}).Extract()
			if err == nil {
				id = p.ID
			}
			return err
		}); err != nil {
			return err
		}
		return try("delete a port", func() error { return ports.Delete(ctx, m.neutron.ServiceClient, id).ExtractErr() })
	})
}
