package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// user is the number of the user that programs run as; by convention it is called nonroot.
	user = "65532"
	// homepage is the address of the sources.
	homepage = "https://github.com/c5c3/crossplane-cobaltcore"
	// rootsPath is the Go module of the certificates.
	rootsPath = "golang.org/x/crypto/x509roots/fallback"
)

// file is one file of a layer; a name that ends in a slash is a folder.
type file struct {
	name string
	mode int64
	data []byte
}

// image makes the image of a program: the program, its bill of materials, certificates of public authorities, a user without
// rights, and nothing else: no shell, no libraries.
func (b builder) image(p program, arch string, binary, bill []byte) (v1.Image, error) {
	base, err := layerOf(b.source.time,
		file{name: "etc/", mode: 0o755},
		file{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:" + user + ":\n")},
		file{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/\nnonroot:x:" + user + ":" + user + ":nonroot:/:/\n")},
		file{name: "etc/ssl/", mode: 0o755},
		file{name: "etc/ssl/certs/", mode: 0o755},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		file{name: "tmp/", mode: 0o1777},
	)
	if err != nil {
		return nil, err
	}
	app, err := layerOf(b.source.time,
		file{name: p.name, mode: 0o755, data: binary},
		file{name: "usr/", mode: 0o755},
		file{name: "usr/share/", mode: 0o755},
		file{name: "usr/share/sbom/", mode: 0o755},
		file{name: "usr/share/sbom/" + p.name + ".cdx.json", mode: 0o644, data: bill},
	)
	if err != nil {
		return nil, err
	}
	at := v1.Time{Time: b.source.time}
	image, err := mutate.Append(blank(),
		mutate.Addendum{Layer: base, History: v1.History{Created: at, CreatedBy: "user, certificates"}},
		mutate.Addendum{Layer: app, History: v1.History{Created: at, CreatedBy: p.name}},
	)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, at
	config.Config = v1.Config{
		Entrypoint: []string{"/" + p.name},
		User:       user + ":" + user,
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
		Labels:     b.annotations(p.title),
	}
	return mutate.ConfigFile(image, config)
}

// annotations are the standard annotations of an image:
// https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func (b builder) annotations(title string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":    title,
		prefix + "version":  b.source.version,
		prefix + "revision": b.source.revision,
		prefix + "created":  b.source.time.Format(time.RFC3339),
		prefix + "source":   homepage,
		prefix + "licenses": "Apache-2.0",
		prefix + "vendor":   "CobaltCore",
	}
}

// blank is an OCI image of nothing.
func blank() v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// authorities are the certificates of public authorities that Mozilla trusts without a condition, in PEM.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return out.Bytes()
}

// rootsModule returns the module of the certificates in the version that is built into this program.
func rootsModule() *debug.Module {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == rootsPath {
				return m
			}
		}
	}
	return &debug.Module{Path: rootsPath, Version: "unknown"} // a test binary lists no modules
}

// layerOf makes a layer of files, in the order given, that belong to root.
func layerOf(at time.Time, files ...file) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// indexOf joins the images of several architectures.
func indexOf(images []v1.Image, annotations map[string]string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	annotated, ok := mutate.Annotations(index, annotations).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("cannot annotate an index")
	}
	return annotated, nil
}
