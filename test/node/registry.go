package node

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Registry serves images to containerd, whatever registry their names say.
type Registry struct {
	listener net.Listener

	mu    sync.Mutex
	names map[string]image  // by name without the registry: c5c3/keystone:28.1.0
	blobs map[string]layout // by digest
	types map[string]string // media types of manifests, by digest
}

// image is where an image is.
type image struct {
	layout     layout
	descriptor descriptor
}

// newRegistry serves on an address until it is closed.
func newRegistry(ctx context.Context, address string) (*Registry, error) {
	r := &Registry{names: map[string]image{}, blobs: map[string]layout{}, types: map[string]string{}}
	var err error
	if r.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go server.Serve(r.listener) //nolint:errcheck // it ends when the listener is closed
	return r, nil
}

// Add serves all images of an OCI layout that have a name. A name with a registry is served without it.
func (r *Registry) Add(dir string) error {
	l := layout{dir}
	all, err := l.images()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir + "/blobs/sha256")
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		r.blobs["sha256:"+e.Name()] = l
	}
	for name, d := range all {
		r.names[withoutRegistry(name)] = image{l, d}
		r.types[d.Digest] = d.MediaType
	}
	return nil
}

// withoutRegistry is the name of an image without its registry, as containerd asks for it
// (https://github.com/distribution/reference/blob/main/normalize.go): what looks like a host is one, and a single word is library's.
func withoutRegistry(name string) string {
	first, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return "library/" + name
	case first == "localhost" || strings.ContainsAny(first, ".:"):
		return rest
	}
	return name
}

// ServeHTTP answers what a client asks that pulls: /v2/<name>/manifests/<tag or digest> and /v2/<name>/blobs/<digest>
// (https://github.com/opencontainers/distribution-spec/blob/main/spec.md).
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if len(parts) < 4 {
		return // yes, this is a registry
	}
	name, what, ref := strings.Join(parts[1:len(parts)-2], "/"), parts[len(parts)-2], parts[len(parts)-1]
	r.mu.Lock()
	if i, ok := r.names[name+":"+ref]; ok && what == "manifests" {
		ref = i.descriptor.Digest
	}
	l, ok := r.blobs[ref]
	mediaType := r.types[ref]
	r.mu.Unlock()
	if !ok {
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"there is no such image here"}]}`, http.StatusNotFound)
		return
	}
	if mediaType == "" {
		mediaType = typeManifest
		if what == "blobs" {
			mediaType = "application/octet-stream"
		}
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", ref)
	http.ServeFile(w, req, l.blob(ref))
}
