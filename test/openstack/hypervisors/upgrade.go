//go:build openstack && linux

package hypervisors

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
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// CheckUpgrade upgrades a cloud, and afterwards its hypervisors, to the next SLURP release, while a server is pinged and
// clients send requests, none of which fails.
func (m *Machines) CheckUpgrade(t *testing.T, g Guest, plane []byte, load *harness.Clients, services ...string) {
	t.Helper()
	counted := m.Seconds(t, g)
	load.More(t, 10)
	m.pinged(t, g, "control plane", func() {
		harness.Upgrade(t, m.Cloud, plane, harness.UpgradeTo, services...)
		for _, schema := range []string{"nova-api", "nova-cell0", "nova-cell1", "neutron"} {
			harness.CheckContracted(t, m.Cloud, schema, harness.UpgradeTo)
		}
		harness.CheckImages(t, m.Cloud, novav1.ServiceName, harness.UpgradeTo)
		harness.CheckImages(t, m.Cloud, neutronv1.ServiceName, harness.UpgradeTo)
		load.More(t, 20)
	})
	m.runs(t, "nova-compute", novav1.ServiceName, harness.UpgradeFrom)
	m.runs(t, "metadata", neutronv1.ServiceName, harness.UpgradeFrom)
	m.pinged(t, g, "hypervisors", func() {
		if err := m.Cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		m.runs(t, "nova-compute", novav1.ServiceName, harness.UpgradeTo)
		m.runs(t, "metadata", neutronv1.ServiceName, harness.UpgradeTo)
		load.More(t, 20)
	})
	load.Stop(t)
	t.Logf("clients of all services: %s", load)
	if now := m.Seconds(t, g); now <= counted {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", counted, now)
	}
}

// WithTwoImagePods adds a second pod of Glance to a claim, so that its pods are replaced one after the other.
func WithTwoImagePods(claim []byte) []byte {
	return bytes.Replace(claim, []byte("    glance:\n"), []byte("    glance:\n      replicas: 2\n"), 1)
}

// pinged runs a step of an upgrade while a server is pinged, which must not be interrupted.
func (m *Machines) pinged(t *testing.T, g Guest, step string, during func()) {
	t.Helper()
	began := time.Now()
	came := harness.Ping(t, g.Address, during)
	t.Logf("%s: %.0f s, %s", step, time.Since(began).Seconds(), came)
	if came.Lost > 0 {
		t.Errorf("%s: %s", step, came)
	}
}

// runs waits until the pod of a component of the node is ready, and has a service's release.
func (m *Machines) runs(t *testing.T, component, service string, r release.Release) {
	t.Helper()
	version, err := r.Version(service)
	if err != nil {
		t.Fatal(err)
	}
	m.Until(t, component+" of "+string(r), "", func() error {
		pods := m.Pods(t, component)
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

// StartClients starts two clients that log in, list images, show a server, and create and delete a port: a request to each
// of the services that a server needs.
func StartClients(t *testing.T, m *Machines, g Guest) *harness.Clients {
	t.Helper()
	c := harness.KeystoneClient(t, m.Cloud, false)
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
		if err := try("log in", func() error { _, err := c.Issue(ctx, c.Admin); return err }); err != nil {
			return err
		}
		if err := try("list images", func() error {
			_, err := images.List(m.Glance.ServiceClient, nil).AllPages(ctx)
			return err
		}); err != nil {
			return err
		}
		if err := try("show the virtual machine", func() error {
			s, err := servers.Get(ctx, m.ServiceClient, g.Server.ID).Extract()
			if err == nil && s.Status != "ACTIVE" {
				err = fmt.Errorf("it is %s", s.Status)
			}
			return err
		}); err != nil {
			return err
		}
		id := ""
		if err := try("make a port", func() error {
			p, err := ports.Create(ctx, m.Neutron.ServiceClient, ports.CreateOpts{
				NetworkID: g.Port.NetworkID, Name: fmt.Sprintf("load-%d-%d", client, round),
			}).Extract()
			if err == nil {
				id = p.ID
			}
			return err
		}); err != nil {
			return err
		}
		return try("delete a port", func() error { return ports.Delete(ctx, m.Neutron.ServiceClient, id).ExtractErr() })
	})
}
