//go:build openstack && linux

package glance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// MiB is the number of bytes of a mebibyte.
const MiB = 1 << 20

// Glance is a client of a Glance, at its internal address.
type Glance struct{ *gophercloud.ServiceClient }

// Of returns a client of a cloud's Glance, as administrator.
func Of(t *testing.T, cloud *clouds.Cloud) Glance {
	t.Helper()
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewImageV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	return Glance{c}
}

// Content returns the content of an image: the same for the same size.
func Content(size int) []byte {
	out := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)}).Read(out)
	return out
}

// SlowBody is a body that is sent in chunks, with pauses between them.
type SlowBody struct {
	Data  []byte
	Chunk int
	Pause time.Duration
}

// InOneChunk returns a body that is sent in one chunk.
func InOneChunk(data []byte) *SlowBody { return &SlowBody{Data: data, Chunk: len(data)} }

// CreateImage creates an image without data.
func (g Glance) CreateImage(t *testing.T, name, format string) (id string) {
	t.Helper()
	i, err := images.Create(context.Background(), g.ServiceClient, images.CreateOpts{
		Name: name, ContainerFormat: "bare", DiskFormat: format,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return i.ID
}

// Upload uploads an image's content into a store; an empty one is the default.
func (g Glance) Upload(t *testing.T, id string, body io.Reader, store string) {
	t.Helper()
	c := *g.ServiceClient
	if store != "" {
		c.MoreHeaders = map[string]string{"X-Image-Meta-Store": store}
	}
	began := time.Now()
	if err := imagedata.Upload(context.Background(), &c, id, body).ExtractErr(); err != nil {
		t.Fatalf("after %.1f s: %v", time.Since(began).Seconds(), err)
	}
}

// Download reads an image, and compares it.
func (g Glance) Download(ctx context.Context, id string, want []byte) error {
	body, err := imagedata.Download(ctx, g.ServiceClient, id).Extract()
	if err != nil {
		return err
	}
	got, err := io.ReadAll(body)
	if c, ok := body.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the image has %d bytes, sha256 %x; want %d, %x", len(got), sha256.Sum256(got), len(want), sha256.Sum256(want))
	}
	return nil
}

// WaitForImage waits until an image is active, and in these stores.
func (g Glance) WaitForImage(t *testing.T, id string, stores ...string) *images.Image {
	t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		i, err := images.Get(context.Background(), g.ServiceClient, id).Extract()
		if err != nil {
			t.Fatal(err)
		}
		in, _ := i.Properties["stores"].(string)
		missing := slices.ContainsFunc(stores, func(s string) bool { return !slices.Contains(strings.Split(in, ","), s) })
		if i.Status == images.ImageStatusActive && !missing {
			return i
		}
		if failed, _ := i.Properties["os_glance_failed_import"].(string); failed != "" || stopwatch.Since(began) > 2*time.Minute {
			t.Fatalf("the image is %s, in %q of %q after %.0f s: %v", i.Status, in, stores, time.Since(began).Seconds(), i.Properties)
		}
	}
}

// WriteTo implements io.WriterTo for net/http: each write becomes one chunk.
func (s *SlowBody) WriteTo(w io.Writer) (n int64, err error) {
	for chunk := range slices.Chunk(s.Data, s.Chunk) {
		if n > 0 {
			time.Sleep(s.Pause)
		}
		written, err := w.Write(chunk)
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read is never called, because net/http prefers WriteTo.
func (s *SlowBody) Read([]byte) (int, error) { return 0, errors.New("it is written") }

// Close does nothing.
func (s *SlowBody) Close() error { return nil }
