package platform

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

// registry serves images to Crossplane by the read-only half of the OCI distribution specification.
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md
type registry struct {
	mu        sync.RWMutex                 // for what is added while it serves
	blobs     map[string][]byte            // by digest; manifests as well
	types     map[string]string            // media types of manifests, by digest
	tags      map[string]map[string]string // digests by repository and tag
	listening net.Listener
}

const (
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func newRegistry() *registry {
	return &registry{blobs: map[string][]byte{}, types: map[string]string{}, tags: map[string]map[string]string{}}
}

func (r *registry) blob(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.blobs[digest] = data
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(data)}
}

func (r *registry) tag(repository, tag string, d descriptor) {
	if r.tags[repository] == nil {
		r.tags[repository] = map[string]string{}
	}
	r.tags[repository][tag] = d.Digest
	r.types[d.Digest] = d.MediaType
}

// addPackage adds a Crossplane package without a program: an image with one layer that holds package.yaml.
// https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md
func (r *registry) addPackage(repository, tag string, stream []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: "package.yaml", Mode: 0o644, Size: int64(len(stream))}); err != nil {
		return err
	}
	if _, err := w.Write(stream); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	l := r.blob(ociLayer, layer.Bytes())
	l.Annotations = map[string]string{"io.crossplane.xpkg": "base"}
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": "amd64",
		// No two versions are the same image: a released one has another program in it.
		"config": map[string]any{"Labels": map[string]string{"org.opencontainers.image.version": tag}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{l.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ociManifest, "config": r.blob(ociConfig, config), "layers": []descriptor{l},
	})
	if err != nil {
		return err
	}
	r.tag(repository, tag, r.blob(ociManifest, manifest))
	return nil
}

// addLayout adds every image of an OCI image layout that has a name, below a prefix.
func (r *registry) addLayout(dir, prefix string) error {
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return err
	}
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil {
		return err
	}
	for _, path := range blobs {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var typed struct {
			MediaType string `json:"mediaType"`
		}
		_ = json.Unmarshal(data, &typed) // most blobs are no JSON
		d := r.blob(typed.MediaType, data)
		if typed.MediaType != "" {
			r.types[d.Digest] = typed.MediaType
		}
	}
	for _, d := range index.Manifests {
		if repository, tag, ok := strings.Cut(d.Annotations["org.opencontainers.image.ref.name"], ":"); ok {
			r.tag(prefix+repository, tag, d)
		}
	}
	return nil
}

// serve serves on a free port, until it is closed.
func (r *registry) serve(ctx context.Context) (err error) {
	if r.listening, err = (&net.ListenConfig{}).Listen(ctx, "tcp", kubernetes.Address(0)); err != nil {
		return err
	}
	go http.Serve(r.listening, r) //nolint:errcheck,gosec // it ends when it is closed, and only this machine reaches it
	return nil
}

// ServeHTTP answers /v2/, /v2/<repository>/tags/list, /v2/<repository>/manifests/<tag or digest> and /v2/<repository>/blobs/<digest>.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if len(parts) < 4 {
		w.WriteHeader(http.StatusOK)
		return
	}
	repository, what, ref := strings.Join(parts[1:len(parts)-2], "/"), parts[len(parts)-2], parts[len(parts)-1]
	if what == "tags" {
		tags := []string{}
		for t := range r.tags[repository] {
			tags = append(tags, t)
		}
		w.Header().Set("Content-Type", "application/json")
		list := struct {
			Name string   `json:"name"`
			Tags []string `json:"tags"`
		}{repository, tags}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	}
	if digest, ok := r.tags[repository][ref]; ok && what == "manifests" {
		ref = digest
	}
	data, ok := r.blobs[ref]
	if !ok {
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
		return
	}
	if t := r.types[ref]; t != "" {
		w.Header().Set("Content-Type", t)
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	w.Header().Set("Docker-Content-Digest", ref)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if req.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}
