package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Media types of an OCI image: https://github.com/opencontainers/image-spec/blob/main/media-types.md.
const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"

	// refName is the annotation with an image's name.
	refName = "org.opencontainers.image.ref.name"
)

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// manifest is the manifest of an image.
type manifest struct {
	Config descriptor   `json:"config"`
	Layers []descriptor `json:"layers"`
}

// index lists the images of a layout.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	Manifests     []descriptor `json:"manifests"`
}

// layout is a folder with OCI images: https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
type layout struct{ dir string }

// images returns the named images, by name. A missing layout has none.
func (l layout) images() (map[string]descriptor, error) {
	i, err := l.index()
	if err != nil {
		return nil, err
	}
	out := map[string]descriptor{}
	for _, d := range i.Manifests {
		if name := d.Annotations[refName]; name != "" {
			out[name] = d
		}
	}
	return out, nil
}

func (l layout) index() (index, error) {
	i := index{SchemaVersion: 2}
	data, err := os.ReadFile(filepath.Join(l.dir, "index.json"))
	if errors.Is(err, os.ErrNotExist) {
		return i, nil
	} else if err != nil {
		return i, err
	}
	if err := json.Unmarshal(data, &i); err != nil {
		return i, fmt.Errorf("cannot read the images in %s: %w", l.dir, err)
	}
	return i, nil
}

// blob returns the path of a blob.
func (l layout) blob(digest string) string {
	return filepath.Join(l.dir, "blobs", "sha256", filepath.Base(digest[len("sha256:"):]))
}

// file is a file of an image. A name that ends in a slash is a folder.
type file struct {
	name string
	mode int64
	data []byte
}

// packaged is the annotation of the layer of a Crossplane package that describes it
// (https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md).
var packaged = map[string]string{"io.crossplane.xpkg": "base"}

// program creates an image of one static program and other files, which runs as an unprivileged user.
func (l layout) program(name, program, path string, more ...file) error {
	return l.programPackage(name, program, path, nil, more...)
}

// programPackage creates a Crossplane package with a program.
func (l layout) programPackage(name, program, path string, pkg []byte, more ...file) error {
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	layers := [][]file{append([]file{{"tmp/", 0o1777, nil}, {program, 0o755, binary}}, more...)}
	if pkg != nil {
		layers = append(layers, []file{{"package.yaml", 0o644, pkg}})
	}
	return l.add(name, map[string]any{"Entrypoint": []string{"/" + program}, "User": "65532:65532", "Env": []string{"PATH=/"}}, layers...)
}

// within creates an image from another one with a program added at a path, which runs as that image's user.
func (l layout) within(name, base, at, path string) error {
	all, err := l.images()
	if err != nil {
		return err
	}
	var m manifest
	if err := l.readJSON(all[base], &m); err != nil {
		return fmt.Errorf("cannot read the image %s: %w", base, err)
	}
	var config struct {
		Config map[string]any `json:"config"`
		RootFS struct {
			Digests []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := l.readJSON(m.Config, &config); err != nil {
		return fmt.Errorf("cannot read the image %s: %w", base, err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config.Config["Entrypoint"] = []string{"/" + at}
	delete(config.Config, "Cmd")
	return l.extend(name, config.Config, m.Layers, config.RootFS.Digests, []file{{at, 0o755, binary}})
}

// add adds an image of layers, or replaces the image with the same name.
func (l layout) add(name string, config map[string]any, layers ...[]file) error {
	return l.extend(name, config, nil, nil, layers...)
}

// extend adds an image with layers on top of existing ones.
func (l layout) extend(name string, config map[string]any, descriptors []descriptor, digests []string, layers ...[]file) error {
	for _, files := range layers {
		data, err := archive(files)
		if err != nil {
			return err
		}
		d, err := l.put(typeLayer, data)
		if err != nil {
			return err
		}
		if files[0].name == "package.yaml" {
			d.Annotations = packaged
		}
		descriptors, digests = append(descriptors, d), append(digests, d.Digest)
	}
	c, err := l.putJSON(typeConfig, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH, "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": digests},
	})
	if err != nil {
		return err
	}
	manifest, err := l.putJSON(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": c, "layers": descriptors,
	})
	if err != nil {
		return err
	}
	i, err := l.index()
	if err != nil {
		return err
	}
	i.Manifests = slices.DeleteFunc(i.Manifests, func(d descriptor) bool { return d.Annotations[refName] == name })
	manifest.Annotations = map[string]string{refName: name}
	i.Manifests = append(i.Manifests, manifest)
	data, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, "index.json"), data, 0o644)
}

// archive returns a layer of files. The same files result in the same bytes.
func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: f.mode, Size: int64(len(f.data))}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func (l layout) readJSON(d descriptor, v any) error {
	if d.Digest == "" {
		return errors.New("it is not there")
	}
	data, err := os.ReadFile(l.blob(d.Digest))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func (l layout) putJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return l.put(mediaType, data)
}

// put writes a blob, unless it exists.
func (l layout) put(mediaType string, data []byte) (descriptor, error) {
	hash := sha256.Sum256(data)
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(hash[:]), Size: int64(len(data))}
	path := l.blob(d.Digest)
	if _, err := os.Stat(path); err == nil {
		return d, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return d, err
	}
	return d, os.WriteFile(path, data, 0o644)
}

// prune removes blobs that belong to no image.
func (l layout) prune() error {
	all, err := l.images()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, image := range all {
		var m manifest
		if err := l.readJSON(image, &m); err != nil {
			return fmt.Errorf("cannot read the image %s: %w", image.Digest, err)
		}
		for _, d := range append(m.Layers, m.Config, image) {
			used[filepath.Base(l.blob(d.Digest))] = true
		}
	}
	blobs, err := os.ReadDir(filepath.Join(l.dir, "blobs", "sha256"))
	if err != nil {
		return err
	}
	for _, b := range blobs {
		if !used[b.Name()] {
			if err := os.Remove(filepath.Join(l.dir, "blobs", "sha256", b.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
