package node

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/registry"
)

func TestWithoutRegistry(t *testing.T) {
	for name, want := range map[string]string{
		"controller:latest":                    "library/controller:latest",
		"c5c3/keystone:28.1.0":                 "c5c3/keystone:28.1.0",
		"ghcr.io/c5c3/keystone:28.1.0":         "c5c3/keystone:28.1.0",
		"localhost/topology:v0.0.1":            "topology:v0.0.1",
		"registry:5000/a/b:1":                  "a/b:1",
		"docker-registry1.example.com/lib/m:1": "lib/m:1",
	} {
		if got := withoutRegistry(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestRegistry checks that a client pulls the contents of a layout, by tag and by digest.
func TestRegistry(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := layout{filepath.Join(dir, "layout")}
	for range 2 { // the second replaces the first
		if err := l.programPackage("ghcr.io/c5c3/function:v1", "function", program, []byte("kind: Function\n")); err != nil {
			t.Fatal(err)
		}
	}
	i, err := l.index()
	if err != nil || len(i.Manifests) != 1 {
		t.Fatalf("got %d images, %v", len(i.Manifests), err)
	}
	stray, err := l.put(typeLayer, []byte("an earlier image's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.prune(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.blob(stray.Digest)); !os.IsNotExist(err) {
		t.Errorf("an unreferenced blob still exists: %v", err)
	}
	r := registry.New()
	if err := r.Serve(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.AddLayout(l.dir, withoutRegistry); err != nil {
		t.Fatal(err)
	}
	if err := r.AddLayout(filepath.Join(dir, "none"), withoutRegistry); err != nil {
		t.Errorf("a layout that is not there: %v", err)
	}
	get := func(path string) (int, string, []byte) {
		t.Helper()
		resp, err := http.Get("http://" + r.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Content-Type"), data
	}
	status, kind, data := get("/v2/c5c3/function/manifests/v1")
	var manifest struct {
		Layers []descriptor `json:"layers"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil || status != http.StatusOK || kind != typeManifest || len(manifest.Layers) != 2 {
		t.Fatalf("got %d %s %s, %v", status, kind, data, err)
	}
	if diff := cmp.Diff(packaged, manifest.Layers[1].Annotations); diff != "" {
		t.Errorf("Crossplane does not find the package: -want +got\n%s", diff)
	}
	for _, layer := range manifest.Layers {
		if status, _, data := get("/v2/c5c3/function/blobs/" + layer.Digest); status != http.StatusOK || int64(len(data)) != layer.Size {
			t.Errorf("layer %s: got %d, %d bytes, want %d", layer.Digest, status, len(data), layer.Size)
		}
	}
	if status, _, _ := get("/v2/c5c3/function/manifests/" + i.Manifests[0].Digest); status != http.StatusOK {
		t.Errorf("by digest: got %d", status)
	}
	if status, _, _ := get("/v2/c5c3/function/manifests/v2"); status != http.StatusNotFound {
		t.Errorf("a tag that is not there: got %d", status)
	}
}

// TestWithin checks that a program added to another image keeps the image's files, and is its entry point.
func TestWithin(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := layout{filepath.Join(dir, "layout")}
	if err := l.within("rook:v1", "ceph:v18", "usr/bin/rook", program); err == nil {
		t.Error("an image of one that is not there was made")
	}
	base := map[string]any{"Env": []string{"PATH=/bin"}, "User": "167", "Cmd": []string{"sh"}}
	if err := errors.Join(l.add("ceph:v18", base, []file{{"bin/ceph", 0o755, nil}}), l.within("rook:v1", "ceph:v18", "usr/bin/rook", program)); err != nil {
		t.Fatal(err)
	}
	type image struct {
		Config map[string]any `json:"config"`
		RootFS map[string]any `json:"rootfs"`
	}
	read := func(name string) (m manifest, i image) {
		t.Helper()
		all, err := l.images()
		if err := errors.Join(err, l.readJSON(all[name], &m), l.readJSON(m.Config, &i)); err != nil {
			t.Fatal(err)
		}
		return m, i
	}
	ceph, _ := read("ceph:v18")
	rook, got := read("rook:v1")
	want := image{
		Config: map[string]any{"Env": []any{"PATH=/bin"}, "User": "167", "Entrypoint": []any{"/usr/bin/rook"}},
		RootFS: map[string]any{"type": "layers", "diff_ids": []any{ceph.Layers[0].Digest, rook.Layers[1].Digest}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(ceph.Layers, rook.Layers[:1]); diff != "" {
		t.Errorf("layers: -want +got\n%s", diff)
	}
}
