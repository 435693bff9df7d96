//go:build openstack && linux

package volumes

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cinder"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// TestVolumesUpgrade upgrades a cloud with a Cinder from one SLURP release to the next, the control plane first and its
// hypervisors afterwards. Meanwhile a server writes to its volume, and clients use the APIs, including Cinder's; no
// write and no request fails, and all data can be read back. Afterwards the volume is detached, and attached again.
func TestVolumesUpgrade(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=volumes")
	}
	const number = 9
	claim := func(r release.Release) []byte {
		return hypervisors.WithTwoImagePods(harness.Claim(t, "attached.yaml", r, harness.Suffix(harness.UpgradeFrom)))
	}
	d := Start(t, harness.UpgradeFrom, number, claim(harness.UpgradeFrom))
	g := d.Boot(t)
	disk := d.Cinder.CreateVolume(t, volumes.CreateOpts{Name: "disk", Size: 1})
	d.attach(t, g, disk)
	d.reads(t, g, disk, "before", "before")
	began := time.Now()
	if _, err := g.Get("cgi-bin/writes?" + hypervisors.Serial(disk)); err != nil {
		t.Fatal(err)
	}
	d.wrote(t, g, 0)
	used := cinder.VolumesUsed(t, d.Cinder)
	d.CheckUpgrade(t, g, claim(harness.UpgradeTo), hypervisors.StartClients(t, d.Machines, g), "keystone", "placement", "glance", cinderv1.ServiceName)
	d.managers(t, harness.UpgradeTo)
	used.More(t, 6)
	used.Stop(t)
	t.Logf("clients that make and delete volumes: %s", used)
	d.wrote(t, g, d.wrote(t, g, 0).last)
	if _, err := g.Get("cgi-bin/writes"); err != nil { // which ends it
		t.Fatal(err)
	}
	w := d.wrote(t, g, 0)
	t.Logf("%d writes in %.0f s, and %d that failed; the longest took %.2f s",
		w.last, time.Since(began).Seconds(), w.failed, w.longest.Seconds())
	if w.failed > 0 {
		t.Errorf("%d writes have failed", w.failed)
	}
	d.unharmed(t, g)
	d.numbered(t, disk, w.last)
	d.reattach(t, g, disk, "before")
	d.numbered(t, disk, w.last)
}

// writes are a server's writes to a volume: numbers up to the last one, how many failed, and the duration of the
// longest.
type writes struct {
	last, failed int
	longest      time.Duration
}

// wrote waits until a server has written more numbers than given.
func (d *Disks) wrote(t *testing.T, g hypervisors.Guest, more int) (w writes) {
	t.Helper()
	d.Until(t, "its writes", g.Server.ID, func() error {
		text, err := g.Get("writes")
		if err != nil {
			return err
		}
		var hundredths int
		if _, err := fmt.Sscan(text, &w.last, &w.failed, &hundredths); err != nil {
			return fmt.Errorf("it returned %q: %w", text, err)
		}
		w.longest = time.Duration(hundredths) * 10 * time.Millisecond
		if w.last <= more {
			return fmt.Errorf("it has written %d numbers", w.last)
		}
		return nil
	})
	return w
}

// numbered checks that Ceph has every number that a server has written, each in the sector of that number.
func (d *Disks) numbered(t *testing.T, disk string, last int) {
	t.Helper()
	const sector = 512
	has := d.Cinder.Block(t, disk, (last+1)*sector)
	if len(has) != (last+1)*sector {
		t.Fatalf("the volume has %d bytes, want %d", len(has), (last+1)*sector)
	}
	wrong := 0
	for n := 1; n <= last; n++ {
		want := make([]byte, sector)
		copy(want, fmt.Sprintln(n))
		if !bytes.Equal(has[n*sector:(n+1)*sector], want) {
			if wrong++; wrong < 10 {
				t.Errorf("instead of %d the volume has %.20q", n, has[n*sector:(n+1)*sector])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d numbers are not on the volume", wrong, last)
	}
}

// managers checks that all managers of volumes have a release.
func (d *Disks) managers(t *testing.T, r release.Release) {
	t.Helper()
	version, err := r.Version(cinderv1.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := d.Cloud.Cluster.Client.List(context.Background(), pods, client.InNamespace(d.Cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": cinderv1.ServiceName, harness.ComponentLabel: "volume-ceph-rbd",
	}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Error("there is no manager of volumes")
	}
	for _, p := range pods.Items {
		if image := p.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
			t.Errorf("pod %s runs %s, want %s", p.Name, image, version)
		}
	}
}
