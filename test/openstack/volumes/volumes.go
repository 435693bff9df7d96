//go:build openstack && linux

package volumes

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cinder"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// Disks are machines with a Cinder.
type Disks struct {
	*hypervisors.Machines
	Cinder cinder.Cinder
}

// Start creates a cloud with servers, and volumes in a Ceph.
func Start(t *testing.T, r release.Release, number int, plane []byte, options ...func(*clouds.Options)) *Disks {
	t.Helper()
	ceph := harness.StartCeph(t)
	client := func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{
			"volumes-ceph": cephClient(ceph, "cinder"), "backups-ceph": cephClient(ceph, "cinder-backup"), "images-ceph": cephClient(ceph, "glance"),
		}
	}
	m := hypervisors.Start(t, plane, harness.Claim(t, "hypervisors.yaml", r, harness.Suffix(r)), number, append(options, client)...)
	provider, ends := harness.Administrator(t, m.Cloud)
	c, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "3.70"
	return &Disks{Machines: m, Cinder: cinder.Cinder{ServiceClient: c, Cloud: m.Cloud, Ceph: ceph}}
}

// cephClient returns the Secret of a user of Ceph.
func cephClient(c *operators.Ceph, user string) map[string][]byte {
	return map[string][]byte{cinderv1.CephConfigKey: c.Configuration(), cinderv1.CephKeyringKey: c.Keyrings[user]}
}
