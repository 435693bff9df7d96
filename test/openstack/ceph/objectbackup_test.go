//go:build openstack && linux

package ceph

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cinder"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestCephBackups checks that a member of a project can back up a volume into the object store of the cloud, by Swift,
// and restore it. The backup is in the account of that project only.
func TestCephBackups(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=ceph")
	}
	for _, r := range []release.Release{"2025.2", "2026.2"} {
		t.Run(string(r), func(t *testing.T) { testObjectBackup(t, r) })
	}
}

// container of backups.
const container = "nightly"

func testObjectBackup(t *testing.T, r release.Release) {
	ctx, plane := context.Background(), lettingObjectsIn(withoutBackup(t, harness.Claim(t, "volumes.yaml", r, "-objects")))
	s := &stores{ceph: harness.StartCephWith(t, []string{"volumes"}, map[string]operators.Caps{
		"cinder": operators.OwnPool("volumes"), gatewayUser: operators.GatewayCaps(),
	})}
	s.cloud = harness.Start(t, plane, func(o *clouds.Options) {
		o.Platform = bytes.Replace(o.Platform, []byte("s3Endpoints: ["), []byte(`s3Endpoints: ["*.svc:443", `), 1)
		o.Secrets = map[string]map[string][]byte{
			"volumes-ceph": {cinderv1.CephConfigKey: s.ceph.Configuration(), cinderv1.CephKeyringKey: s.ceph.Keyrings["cinder"]},
		}
	})
	s.startWith(t, plane, func() *operators.Ceph { return s.ceph })

	// The CA of the object store is known after its start.
	if err := s.cloud.Operators.SetSecret(ctx, "tenant-a", "objects", map[string][]byte{"ca.crt": s.authority}); err != nil {
		t.Fatal(err)
	}
	swift := fmt.Sprintf("      backup:\n        swift:\n          url: https://%s.%s.svc/swift/v1/AUTH_\n          container: %s\n"+
		"          caSecretRef: {name: objects, key: ca.crt}\n  global:\n", rook.GatewayName("objects"), s.instance, container)
	if err := s.cloud.Change(bytes.Replace(plane, []byte("  global:\n"), []byte(swift), 1)); err != nil {
		t.Fatal(err)
	}

	one, two := s.member(t, "one"), s.member(t, "two")
	provider, ends := s.as(t, one)
	block, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	block.Microversion = "3.70"
	images, err := openstack.NewImageV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	data, g := glance.Content(8*glance.MiB), glance.Glance{ServiceClient: images}
	image := g.CreateImage(t, "image", "raw")
	g.Upload(t, image, glance.InOneChunk(data), "")
	c := cinder.Cinder{ServiceClient: block, Cloud: s.cloud, Ceph: s.ceph}
	from := c.BackUp(t, image, data, func() []string {
		status, body := s.call(t, http.MethodGet, two.catalog["object-store"]+"/"+container, two.token, "")
		want(t, "look for backups in the account of another project", status, body, http.StatusNotFound)
		return s.objects(t, one)
	})
	if remaining := slices.DeleteFunc(s.objects(t, one), func(name string) bool { return !strings.Contains(name, from) }); len(remaining) > 0 {
		t.Errorf("of a backup that was deleted there is %v", remaining)
	}
}

// withoutBackup returns a claim without the section of backups.
func withoutBackup(t *testing.T, claim []byte) []byte {
	t.Helper()
	before, rest, found := bytes.Cut(claim, []byte("      backup:\n"))
	_, after, also := bytes.Cut(rest, []byte("  global:\n"))
	if !found || !also {
		t.Fatal("the claim has no backup section before the global one")
	}
	return slices.Concat(before, []byte("  global:\n"), after)
}

// as returns a client that is logged in as a member of a project, and options for internal addresses.
func (s *stores) as(t *testing.T, m account) (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	t.Helper()
	admin, ends := harness.Administrator(t, s.cloud)
	out, err := openstack.NewClient(admin.IdentityEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	out.HTTPClient = admin.HTTPClient
	if err := openstack.Authenticate(context.Background(), out, gophercloud.AuthOptions{
		IdentityEndpoint: admin.IdentityEndpoint, UserID: m.user, Password: userPassword, TenantID: m.project,
	}); err != nil {
		t.Fatal(err)
	}
	return out, ends
}

// objects returns the names of the objects in a project's container of backups.
func (s *stores) objects(t *testing.T, m account) []string {
	t.Helper()
	status, body := s.call(t, http.MethodGet, m.catalog["object-store"]+"/"+container, m.token, "")
	want(t, "list backups", status, body, http.StatusOK, http.StatusNoContent)
	return strings.Fields(body)
}
