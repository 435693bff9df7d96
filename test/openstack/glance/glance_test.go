//go:build openstack && linux

package glance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestGlance checks that three pods of the Glance of every release accept images by every method, and store them
// completely in every store.
func TestGlance(t *testing.T) {
	ceph := startCephIfSelected(t)
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			cloud := startGlance(t, r, harness.Suffix(r), ceph)
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, cloud, glancev1.ServiceName, glancev1.ServiceType, glancev1.Port, "")
			})
			g := Of(t, cloud)
			t.Run("Upload", func(t *testing.T) { testUpload(t, g) })
			t.Run("Torn", func(t *testing.T) { testTorn(t, g) })
			t.Run("Import", func(t *testing.T) { testImport(t, g, cloud) })
			t.Run("WebDownload", func(t *testing.T) { testWebDownload(t, g, cloud) })
			t.Run("Stores", func(t *testing.T) { testStores(t, g, ceph) })
			t.Run("Conversion", func(t *testing.T) { testConversion(t, g) })
			t.Run("Archive", func(t *testing.T) { testImageArchive(t, g, cloud) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, cloud, glancev1.ServiceName, imagesUsed(t, g)) })
		})
	}
}

// TestGlanceUpgrade upgrades a Glance with three pods from one SLURP release to the next, while clients upload and
// download, some of them slowly. No request fails, and existing images are unchanged.
func TestGlanceUpgrade(t *testing.T) {
	t.Parallel()
	cloud := startGlance(t, harness.UpgradeFrom, "-up", nil)
	g := Of(t, cloud)
	old := Content(6 * MiB)
	id := g.CreateImage(t, "old", "raw")
	g.Upload(t, id, InOneChunk(old), "objects")
	load := imagesUsed(t, g)
	load.More(t, 10)
	planned := harness.Upgrade(t, cloud, harness.Claim(t, "images.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", glancev1.ServiceName)
	load.More(t, 20)
	load.Stop(t)
	t.Log(load)
	planned.Check(t, map[string]harness.Loss{glancev1.ServiceName: load.Loss()})
	g.check(t, id, old)
}

// startGlance runs a claim with its bucket, a server of downloads, and, if there is one, a pool of a Ceph.
func startGlance(t *testing.T, r release.Release, end string, ceph *operators.Ceph) *clouds.Cloud {
	t.Helper()
	claim := string(harness.Claim(t, "images.yaml", r, end))
	secrets := map[string]map[string][]byte{}
	if ceph != nil {
		for _, line := range []string{"- name: blocks", "  rbd:", "    secretRef:", "    networks:"} {
			claim = strings.Replace(claim, "# "+line, line, 1)
		}
		secrets["images-ceph"] = map[string][]byte{
			glancev1.RBDConfigKey: ceph.Configuration(), glancev1.RBDKeyringKey: ceph.Keyrings["glance"],
		}
	}
	domain := ".images" + end + ".tenant-a.example.com"
	authority, err := pki.New("objects")
	if err != nil {
		t.Fatal(err)
	}
	secrets["images-s3"] = map[string][]byte{
		glancev1.S3AccessKeyIDKey: []byte(imageStore.Key), glancev1.S3SecretAccessKeyKey: []byte(imageStore.Secret),
		"ca.crt": authority.Certificate,
	}
	return harness.Start(t, []byte(claim), func(o *clouds.Options) {
		o.Secrets = secrets
		o.Prepare = func(c *clouds.Cloud) error {
			store := imageStore
			store.Host = "s3" + domain
			return errors.Join(store.Start(t, c.Cluster, authority), downloads(c, "downloads"+domain))
		}
	})
}

// startCephIfSelected runs a Ceph for all releases, if one is installed.
func startCephIfSelected(t *testing.T) *operators.Ceph {
	t.Helper()
	if harness.Programs.Ceph == "" {
		return nil
	}
	return harness.StartCeph(t)
}

// imageStore is Glance's object store. With a slash in its secret, Glance 2025.2 writes locations that it cannot read
// (_update_s3_url of its store_utils.py).
var imageStore = harness.ObjectStore{Bucket: "images", Key: "images", Secret: "s3cret+=$%"}

// downloads serves the same content at every address of a host.
func downloads(c *clouds.Cloud, host string) error {
	// Glance looks a host up with a dot at its end, which DNS has, and a file of hosts only if it stands there.
	l, err := c.Cluster.Listen(80, host, host+".")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// Glance of 2025.1 takes nothing without (web_download.py: int(None)).
		w.Header().Set("Content-Length", fmt.Sprint(len(downloaded)))
		_, _ = w.Write(downloaded)
	})}
	go func() { _ = server.Serve(l) }()
	return nil
}

// downloaded is the content of every address of downloads.
var downloaded = Content(3*MiB + 17)

func (g Glance) check(t *testing.T, id string, want []byte) {
	t.Helper()
	if err := g.Download(context.Background(), id, want); err != nil {
		t.Error(err)
	}
}

// imported requests an import, and waits for its end.
func (g Glance) imported(t *testing.T, id string, method map[string]any, stores ...string) {
	t.Helper()
	ctx, body := context.Background(), map[string]any{"method": method}
	if len(stores) > 0 {
		body["stores"] = stores
	}
	if _, err := g.Post(ctx, g.ServiceURL("images", id, "import"), body, nil, &gophercloud.RequestOpts{ //nolint:bodyclose // there is none
		OkCodes: []int{http.StatusAccepted},
	}); err != nil {
		t.Fatal(err)
	}
	g.WaitForImage(t, id, stores...)
}

// testUpload uploads with chunks that are larger, and pauses that are longer, than uWSGI's defaults.
func testUpload(t *testing.T, g Glance) {
	data := Content(6*MiB + 1)
	id := g.CreateImage(t, "uploaded", "raw")
	g.Upload(t, id, &SlowBody{Data: data, Chunk: 2 * MiB, Pause: 7 * time.Second}, "")
	g.check(t, id, data)
}

// testTorn uploads with TLS records that arrive in pieces, as on every network.
func testTorn(t *testing.T, g Glance) {
	data := Content(256<<10 + 5)
	id, c, provider := g.CreateImage(t, "torn", "raw"), *g.ServiceClient, *g.ProviderClient
	transport := provider.HTTPClient.Transport.(*http.Transport).Clone()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return torn{conn}, err
	}
	provider.HTTPClient.Transport = transport
	c.ProviderClient = &provider
	Glance{&c}.Upload(t, id, &SlowBody{Data: data, Chunk: 64 << 10, Pause: 100 * time.Millisecond}, "")
	g.check(t, id, data)
}

// torn is a connection that splits each write in two.
type torn struct{ net.Conn }

func (c torn) Write(b []byte) (int, error) {
	first, err := c.Conn.Write(b[:len(b)/2])
	if err != nil {
		return first, err
	}
	time.Sleep(20 * time.Millisecond)
	second, err := c.Conn.Write(b[len(b)/2:])
	return first + second, err
}

// testImport checks that an image staged on one pod can be imported by another, which fetches it from the first.
func testImport(t *testing.T, g Glance, cloud *clouds.Cloud) {
	data := Content(5*MiB + 3)
	id := g.CreateImage(t, "imported", "raw")
	if err := imagedata.Stage(context.Background(), g.at(t, cloud, 0), id, InOneChunk(data)).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	Glance{g.at(t, cloud, 1)}.imported(t, id, map[string]any{"name": "glance-direct"}, "files", "objects")
	g.check(t, id, data)
}

// at returns a client of one pod, at the address that it publishes to the others.
func (g Glance) at(t *testing.T, cloud *clouds.Cloud, pod int) *gophercloud.ServiceClient {
	t.Helper()
	s, key := &appsv1.StatefulSet{}, client.ObjectKey{Namespace: cloud.Namespace, Name: glancev1.ServiceName}
	if err := cloud.Cluster.Client.Get(context.Background(), key, s); err != nil {
		t.Fatal(err)
	}
	c := *g.ServiceClient
	for _, e := range s.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "OS_DEFAULT__WORKER_SELF_REFERENCE_URL" {
			c.Endpoint = strings.ReplaceAll(e.Value, "$(POD_NAME)", fmt.Sprintf("%s-%d", s.Name, pod)) + "/"
		}
	}
	c.ResourceBase = c.Endpoint + "v2/"
	return &c
}

// testWebDownload checks that Glance downloads from the hosts that the claim permits, and from no others.
func testWebDownload(t *testing.T, g Glance, cloud *clouds.Cloud) {
	host := "downloads.images" + strings.TrimPrefix(cloud.ClaimName(), "images") + ".tenant-a.example.com"
	id := g.CreateImage(t, "downloaded", "raw")
	g.imported(t, id, map[string]any{"name": "web-download", "uri": "http://" + host + "/image"})
	g.check(t, id, downloaded)
	for _, uri := range []string{"http://" + host + ":8080/image", "https://" + host + "/image", "http://127.0.0.1/image", "http://keystone/image"} {
		_, err := g.Post(context.Background(), g.ServiceURL("images", g.CreateImage(t, "refused", "raw"), "import"), //nolint:bodyclose // there is none
			map[string]any{"method": map[string]any{"name": "web-download", "uri": uri}}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted}})
		if !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
			t.Errorf("%s: got %v, want 400", uri, err)
		}
	}
}

// testStores checks that an image can be uploaded into each store, read from it, and copied to the others.
func testStores(t *testing.T, g Glance, ceph *operators.Ceph) {
	stores := []string{"files", "objects"}
	if ceph != nil {
		stores = append(stores, "blocks")
	}
	for i, store := range stores {
		// Larger than a part of an object, which is 10 MiB.
		data := Content((10+i)*MiB + 5)
		id := g.CreateImage(t, "in-"+store, "raw")
		g.Upload(t, id, InOneChunk(data), store)
		if got, _ := g.WaitForImage(t, id).Properties["stores"].(string); got != store {
			t.Errorf("the image is in %s, want %s", got, store)
		}
		g.check(t, id, data)
		others := slices.DeleteFunc(slices.Clone(stores), func(s string) bool { return s == store })
		g.imported(t, id, map[string]any{"name": "copy-image"}, others...)
		// Without the first copy, the others are read.
		if _, err := g.Delete(context.Background(), strings.TrimSuffix(g.ResourceBase, "v2/")+"v2/stores/"+store+"/"+id, nil); err != nil { //nolint:bodyclose // there is none
			t.Errorf("cannot delete the copy in %s: %v", store, err)
		}
		g.check(t, id, data)
		if err := images.Delete(context.Background(), g.ServiceClient, id).ExtractErr(); err != nil {
			t.Error(err)
		}
	}
}

// testConversion checks that an imported qcow2 image is stored as raw, as configured in the claim.
func testConversion(t *testing.T, g Glance) {
	dir, data := t.TempDir(), Content(2*MiB)
	raw, qcow := filepath.Join(dir, "raw"), filepath.Join(dir, "qcow2")
	if err := os.WriteFile(raw, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	converted, err := os.ReadFile(qcow)
	if err != nil {
		t.Fatal(err)
	}
	id := g.CreateImage(t, "converted", "qcow2")
	if err := imagedata.Stage(context.Background(), g.ServiceClient, id, InOneChunk(converted)).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	g.imported(t, id, map[string]any{"name": "glance-direct"})
	if got := g.WaitForImage(t, id).DiskFormat; got != "raw" {
		t.Errorf("the image is %s, want raw", got)
	}
	g.check(t, id, data)
}

// imagesUsed starts two clients that create, upload, download and delete images, one of them slowly.
func imagesUsed(t *testing.T, g Glance) *harness.Clients {
	t.Helper()
	return harness.StartClients(t, 3, func(ctx context.Context, client, round int, try harness.Request) error {
		data := Content(MiB + client)
		body := &SlowBody{Data: data, Chunk: 256 << 10, Pause: 100 * time.Millisecond}
		if client == 0 {
			body.Pause = 4 * time.Second
		}
		id := ""
		if err := try("make an image", func() error {
			i, err := images.Create(ctx, g.ServiceClient, images.CreateOpts{
				Name: fmt.Sprintf("load-%d-%d", client, round), ContainerFormat: "bare", DiskFormat: "raw",
			}).Extract()
			if err == nil {
				id = i.ID
			}
			return err
		}); err != nil {
			return err
		}
		return errors.Join(
			try("upload", func() error { return imagedata.Upload(ctx, g.ServiceClient, id, body).ExtractErr() }),
			try("download", func() error { return g.Download(ctx, id, data) }),
			try("delete", func() error { return images.Delete(ctx, g.ServiceClient, id).ExtractErr() }),
		)
	})
}
