//go:build node && linux

package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// Pods of the services other than Keystone.
const (
	placementPods = "app.kubernetes.io/name=placement,app.kubernetes.io/component=api"
	glancePods    = "app.kubernetes.io/name=glance,app.kubernetes.io/component=api"
)

// processFaults are the faults of the processes of Placement and Glance.
var processFaults = []fault{
	{name: "a pod of Placement is deleted", strike: remove(placementPods, 1, nil), lossless: true},
	{name: "a pod of Placement is killed", strike: remove(placementPods, 1, new(int64))},
	{name: "a pod of Glance is deleted", strike: remove(glancePods, 1, nil), lossless: true},
	{name: "a pod of Glance is killed", strike: remove(glancePods, 1, new(int64))},
	{name: "the processes of a pod of Glance crash", strike: crash(glancePods)},
}

// TestServices checks that one claim becomes a cloud with every service. The data in each service survives all faults.
func TestServices(t *testing.T) {
	t.Parallel()
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 60*time.Minute)
	defer cancel()
	observed := watchFlows(ctx, t)
	claim := order(ctx, t, "testdata/services.yaml")
	b := &broken{claim: claim, namespace: instance(ctx, t, claim)}
	c := login(ctx, t, b.namespace)
	retained := upload(ctx, t, c)
	t.Run("Import", func(t *testing.T) { testImport(ctx, t, c) })
	t.Run("Placement", func(t *testing.T) { testPlacement(ctx, t, c) })
	t.Run("Restricted", func(t *testing.T) { testRestricted(ctx, t, b.namespace) })
	t.Run("Broker", func(t *testing.T) { testBroker(ctx, t, b.namespace) })
	t.Run("Networks", func(t *testing.T) { testNetworks(ctx, t, b.namespace, c) })
	network := connect(ctx, t, c)
	m := hypervise(ctx, t, c, claim, b.namespace, retained.id)
	t.Run("Nova", func(t *testing.T) { testNova(ctx, t, c, m) })
	usage(ctx, t, b.namespace)
	b.requests = slices.Concat(m.requests(), network, []request{
		{"list resource providers", listProviders},
		{"download an image", retained.download},
		{"upload an image", uploadSome},
	})
	b.sufferAll(ctx, t, slices.Concat(processFaults, networkFaults, novaFaults))
	t.Run("NetworkPolicies", func(t *testing.T) { observed.checkDenied(ctx, t, b.namespace, m.strange) })
	t.Run("Delete", func(t *testing.T) { testDelete(ctx, t, claim, b.namespace) })
}

// image is an uploaded image, with its expected checksum.
type image struct {
	id  string
	sum [sha256.Size]byte
}

// glance returns a client of the image service, by its address inside the cluster.
func (c *cloud) glance() (*gophercloud.ServiceClient, error) {
	return openstack.NewImageV2(c.provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
}

// content returns the content of an image: the same for the same seed.
func content(seed uint64, size int) []byte {
	out := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(out)
	return out
}

// create creates an image without content.
func create(ctx context.Context, client *gophercloud.ServiceClient, name string) (*images.Image, error) {
	return images.Create(ctx, client, images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
}

// upload uploads an image that is larger than a request's buffers.
func upload(ctx context.Context, t *testing.T, c *cloud) image {
	t.Helper()
	const size = 24 << 20
	client, err := c.glance()
	if err != nil {
		t.Fatal(err)
	}
	data := content(1, size)
	created, err := create(ctx, client, "kept")
	if err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(ctx, client, created.ID, bytes.NewReader(data)).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	i := image{created.ID, sha256.Sum256(data)}
	if err := i.download(ctx, c); err != nil {
		t.Fatal(err)
	}
	return i
}

// download returns an error unless the image has its uploaded content.
func (i image) download(ctx context.Context, c *cloud) error {
	client, err := c.glance()
	if err != nil {
		return err
	}
	body, err := imagedata.Download(ctx, client, i.id).Extract()
	if err != nil {
		return err
	}
	if c, ok := body.(io.Closer); ok {
		defer c.Close()
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	if got := sum.Sum(nil); !bytes.Equal(got, i.sum[:]) {
		return fmt.Errorf("the image has other content: sha256 %x, want %x", got, i.sum)
	}
	return nil
}

// uploadSome creates an image, compares and deletes it.
func uploadSome(ctx context.Context, c *cloud) error {
	const size = 1 << 20
	client, err := c.glance()
	if err != nil {
		return err
	}
	created, err := create(ctx, client, "some")
	if err != nil {
		return err
	}
	data := content(2, size)
	if err := imagedata.Upload(ctx, client, created.ID, bytes.NewReader(data)).ExtractErr(); err != nil {
		return errors.Join(err, images.Delete(ctx, client, created.ID).ExtractErr())
	}
	return errors.Join(image{created.ID, sha256.Sum256(data)}.download(ctx, c), images.Delete(ctx, client, created.ID).ExtractErr())
}

// testImport checks that an image staged by one pod can be imported by any pod.
func testImport(ctx context.Context, t *testing.T, c *cloud) {
	client, err := c.glance()
	if err != nil {
		t.Fatal(err)
	}
	const times = 4
	for n := range times {
		data := content(uint64(3+n), 4<<20)
		created, err := create(ctx, client, fmt.Sprint("imported-", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := imagedata.Stage(ctx, client, created.ID, bytes.NewReader(data)).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		if err := imageimport.Create(ctx, client, created.ID, imageimport.CreateOpts{Name: imageimport.GlanceDirectMethod}).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, time.Minute, func() error {
			now, err := images.Get(ctx, client, created.ID).Extract()
			if err == nil && now.Status != images.ImageStatusActive {
				err = fmt.Errorf("the image is %s", now.Status)
			}
			return err
		})
		if err := (image{created.ID, sha256.Sum256(data)}).download(ctx, c); err != nil {
			t.Error(err)
		}
	}
}

// placement returns a client of the inventory, by its address inside the cluster.
func (c *cloud) placement() (*gophercloud.ServiceClient, error) {
	client, err := openstack.NewPlacementV1(c.provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
	if client != nil {
		client.Microversion = "1.39"
	}
	return client, err
}

// testPlacement checks that a resource provider can be created, and has its inventory.
func testPlacement(ctx context.Context, t *testing.T, c *cloud) {
	client, err := c.placement()
	if err != nil {
		t.Fatal(err)
	}
	created, err := resourceproviders.Create(ctx, client, resourceproviders.CreateOpts{Name: "hypervisor"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	const cores = 8
	if _, err := resourceproviders.UpdateInventories(ctx, client, created.UUID, resourceproviders.UpdateInventoriesOpts{
		ResourceProviderGeneration: created.Generation,
		Inventories: map[string]resourceproviders.Inventory{"VCPU": {
			AllocationRatio: 1, MaxUnit: cores, MinUnit: 1, StepSize: 1, Total: cores,
		}},
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	got, err := resourceproviders.GetInventories(ctx, client, created.UUID).Extract()
	if err != nil || got.Inventories["VCPU"].Total != cores {
		t.Errorf("got inventories %+v, %v", got, err)
	}
}

// listProviders returns an error unless the provider of testPlacement exists.
func listProviders(ctx context.Context, c *cloud) error {
	client, err := c.placement()
	if err != nil {
		return err
	}
	pages, err := resourceproviders.List(client, resourceproviders.ListOpts{Name: "hypervisor"}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := resourceproviders.ExtractResourceProviders(pages)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("there are %d resource providers of that name", len(all))
	}
	return err
}
