//go:build openstack && linux

package barbican

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// Barbican is a client of a Barbican as a plain user.
type Barbican struct {
	*gophercloud.ServiceClient
	cloud *clouds.Cloud
}

// Of returns a client of a cloud's Barbican as administrator, in the project of the volumes.
func Of(t *testing.T, cloud *clouds.Cloud) Barbican {
	t.Helper()
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewKeyManagerV1(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	return Barbican{ServiceClient: c, cloud: cloud}
}
