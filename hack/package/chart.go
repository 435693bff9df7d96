package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types of a chart in a registry: https://helm.sh/docs/topics/registries/.
const (
	chartConfigType types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartLayerType  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart adds the Helm chart: as Helm makes it, but with the time of the commit.
func (b builder) chart(r *release) error {
	folder := filepath.Join(b.source.root, "package", "chart")
	meta, files, err := b.chartFiles(folder)
	if err != nil {
		return err
	}
	name, _ := meta["name"].(string)
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	for _, f := range files {
		header := &tar.Header{Name: name + "/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: b.source.time, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	image, err := b.chartImage(meta, archive.Bytes())
	if err != nil {
		return err
	}
	contents := map[string][]byte{}
	for _, f := range files {
		contents[f.name] = f.data
	}
	installed, err := b.installedBy(*r)
	if err != nil {
		return err
	}
	repository := "charts/" + name
	bill, err := filesBill(b.source, ociURL(b.registry, repository, b.source.version, ""), contents, installed)
	if err != nil {
		return err
	}
	r.files[name+"-"+b.source.version+".tgz"] = archive.Bytes()
	r.artifacts = append(r.artifacts, artifact{
		repository: repository, tag: b.source.version, image: image, bills: []string{r.addBill(name+"-chart", bill)},
	})
	return nil
}

// chartFiles reads a chart, sorted by name, and sets its version and its packages' registry.
func (b builder) chartFiles(folder string) (map[string]any, []file, error) {
	meta := map[string]any{}
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // The checkout does not change during the build.
		if err != nil {
			return err
		}
		switch name = filepath.ToSlash(name); name {
		case "Chart.yaml":
			data, err = b.chartMeta(data, meta)
		case "values.yaml":
			data, err = b.chartValues(data)
		}
		files = append(files, file{name: name, mode: 0o644, data: data})
		return err
	})
	return meta, files, err
}

// chartValues sets the registry in the chart's values by text, which keeps their comments.
func (b builder) chartValues(data []byte) ([]byte, error) {
	const line = "\n  registry: ghcr.io/c5c3\n"
	if bytes.Count(data, []byte(line)) != 1 {
		return nil, fmt.Errorf("values.yaml has to have the line %q once", line)
	}
	return bytes.Replace(data, []byte(line), []byte("\n  registry: "+b.registry+"\n"), 1), nil
}

// chartMeta sets the version in Chart.yaml and reads it into meta.
func (b builder) chartMeta(data []byte, meta map[string]any) ([]byte, error) {
	if err := yaml.UnmarshalStrict(data, &meta); err != nil {
		return nil, fmt.Errorf("cannot read Chart.yaml: %w", err)
	}
	meta["version"], meta["appVersion"] = b.source.version, b.source.version
	return yaml.Marshal(meta)
}

// chartImage is a chart as `helm push` pushes it. Its config is the chart's metadata.
func (b builder) chartImage(meta map[string]any, archive []byte) (v1.Image, error) {
	config, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(archive, chartLayerType)
	layerDescriptor, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	digest, size, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        v1.Descriptor{MediaType: chartConfigType, Size: size, Digest: digest},
		Layers:        []v1.Descriptor{*layerDescriptor},
		Annotations:   b.annotations("Helm chart of CobaltCore's management cluster"),
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(chartCore{config: config, manifest: manifest, layer: layer})
}

// chartCore is an image whose config is not the configuration of a container.
type chartCore struct {
	config, manifest []byte
	layer            v1.Layer
}

func (c chartCore) RawConfigFile() ([]byte, error)                         { return c.config, nil }
func (c chartCore) RawManifest() ([]byte, error)                           { return c.manifest, nil }
func (c chartCore) MediaType() (types.MediaType, error)                    { return types.OCIManifestSchema1, nil }
func (c chartCore) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return c.layer, nil }
