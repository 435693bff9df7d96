package registry_test

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/registry"
)

// TestClientsPullContentsOfPackage checks that a client pulls the contents of a package, and that two versions of one package are two
// images.
func TestClientsPullContentsOfPackage(t *testing.T) {
	r := registry.New()
	for _, tag := range []string{"v1", "v2"} {
		if err := r.AddPackage("c5c3/function", tag, []byte("kind: Function\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Serve(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	get := func(path string) (code int, header http.Header, body *bytes.Reader) {
		t.Helper()
		resp, err := http.Get("http://" + r.Address() + "/v2/c5c3/function/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, bytes.NewReader(data)
	}
	digests := map[string]bool{}
	for _, tag := range []string{"v1", "v2"} {
		_, header, body := get("manifests/" + tag)
		digests[header.Get("Docker-Content-Digest")] = true
		m, err := v1.ParseManifest(body)
		if err != nil || len(m.Layers) != 1 || m.Layers[0].Annotations["io.crossplane.xpkg"] != "base" {
			t.Fatalf("Crossplane finds no package in %+v (%v)", m, err)
		}
		if code, _, _ := get("blobs/" + m.Config.Digest.String()); code != http.StatusOK {
			t.Errorf("the configuration: got %d", code)
		}
		_, _, layer := get("blobs/" + m.Layers[0].Digest.String())
		files := tar.NewReader(layer)
		h, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(files); err != nil || h.Name != "package.yaml" || string(data) != "kind: Function\n" {
			t.Errorf("%s: got %s with %q, %v", tag, h.Name, data, err)
		}
	}
	if len(digests) != 2 {
		t.Errorf("two versions have the digests %v", digests)
	}
	if code, _, _ := get("manifests/v3"); code != http.StatusNotFound {
		t.Errorf("a tag that is not there: got %d", code)
	}
}
