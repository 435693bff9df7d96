// Package registry serves images on this machine, with the registry of go-containerregistry: images of OCI image
// layouts, which stay on the disk, and Crossplane packages that are created on demand.
package registry

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// RefName is the annotation with an image's name in a layout: https://github.com/opencontainers/image-spec/blob/main/annotations.md
const RefName = "org.opencontainers.image.ref.name"

// Registry serves the added images; more can be added while it serves.
type Registry struct {
	handler  http.Handler
	blobs    *blobs
	listener net.Listener
}

// New returns an empty registry.
func New() *Registry {
	b := &blobs{memory: map[v1.Hash][]byte{}}
	return &Registry{blobs: b, handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(b))}
}

// Serve serves on an address until the registry is closed.
func (r *Registry) Serve(ctx context.Context, address string) (err error) {
	if r.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return err
	}
	server := &http.Server{Handler: r.handler, ReadHeaderTimeout: time.Minute}
	go server.Serve(r.listener) //nolint:errcheck // it ends when the listener is closed
	return nil
}

// Address returns the address of the registry.
func (r *Registry) Address() string { return r.listener.Addr().String() }

// Close stops the registry, if it serves.
func (r *Registry) Close() {
	if r != nil && r.listener != nil {
		_ = r.listener.Close()
	}
}

// AddLayout adds the named images of an OCI image layout, as repository:tag. A missing layout has no images.
func (r *Registry) AddLayout(dir string, called func(name string) string) error {
	index, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot read the images in %s: %w", dir, err)
	}
	all, err := index.IndexManifest()
	if err != nil {
		return err
	}
	r.blobs.read(dir)
	for _, d := range all.Manifests {
		repository, tag, ok := strings.Cut(called(d.Annotations[RefName]), ":")
		if !ok {
			continue
		}
		if err := r.addManifest(layout.Path(dir), repository, tag, d); err != nil {
			return err
		}
	}
	return nil
}

// addManifest adds a manifest of a layout, after the manifests which it lists.
func (r *Registry) addManifest(from layout.Path, repository, reference string, d v1.Descriptor) error {
	data, err := from.Bytes(d.Digest)
	if err != nil {
		return err
	}
	if d.MediaType.IsIndex() {
		list, err := v1.ParseIndexManifest(bytes.NewReader(data))
		if err != nil {
			return err
		}
		for _, m := range list.Manifests {
			if err := r.addManifest(from, repository, m.Digest.String(), m); err != nil {
				return err
			}
		}
	}
	return r.put(repository, reference, d.MediaType, data)
}

// put pushes a manifest.
func (r *Registry) put(repository, reference string, mediaType types.MediaType, manifest []byte) error {
	path := "/v2/" + repository + "/manifests/" + reference
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPut, path, bytes.NewReader(manifest))
	request.Header.Set("Content-Type", string(mediaType))
	response := httptest.NewRecorder()
	r.handler.ServeHTTP(response, request)
	if response.Code != http.StatusCreated {
		return fmt.Errorf("cannot add image %s:%s: %s", repository, reference, response.Body)
	}
	return nil
}

// AddPackage adds a Crossplane package without a program: an image with one layer that contains package.yaml.
// https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md
func (r *Registry) AddPackage(repository, tag string, stream []byte) error {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := w.WriteHeader(&tar.Header{Name: "package.yaml", Mode: 0o644, Size: int64(len(stream))}); err != nil {
		return err
	}
	if _, err := w.Write(stream); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	image, err := mutate.Append(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1),
		mutate.Addendum{
			Layer:       static.NewLayer(files.Bytes(), types.OCIUncompressedLayer),
			Annotations: map[string]string{"io.crossplane.xpkg": "base"},
		})
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	// No two versions are the same image: a released one has another program in it.
	config.Config.Labels = map[string]string{"org.opencontainers.image.version": tag}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	return r.add(repository, tag, image)
}

// add keeps an image in memory.
func (r *Registry) add(repository, tag string, image v1.Image) error {
	m, err := image.Manifest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	r.blobs.keep(m.Config.Digest, config)
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for i, l := range layers {
		content, err := l.Compressed()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		r.blobs.keep(m.Layers[i].Digest, data)
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	return r.put(repository, tag, m.MediaType, manifest)
}
