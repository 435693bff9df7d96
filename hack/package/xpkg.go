package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"
)

// A Crossplane package is an image with a layer that contains one file, package.yaml, and has the annotation base:
// https://github.com/crossplane/crossplane/blob/main/contributing/specifications/xpkg.md. Marketplaces show examples from a second layer,
// which Crossplane ignores. In a tarball, layers have no annotations; the label <annotation>:<digest of the layer> replaces them.
const (
	xpkgAnnotation     = "io.crossplane.xpkg"
	xpkgBase           = "base"
	xpkgFile           = "package.yaml"
	xpkgExamples       = "upbound"
	xpkgExamplesFolder = ".up/"
	xpkgExamplesFile   = xpkgExamplesFolder + "examples.yaml"
)

// The annotations of a package that are files: a readme, and an icon as a data URI.
const (
	readmeAnnotation = "meta.crossplane.io/readme"
	iconAnnotation   = "meta.crossplane.io/iconURI"
	iconPath         = "package/icon.svg"
)

// examples are the claims in the Configuration, for marketplaces: a whole cloud, and the claims of a custom service.
var examples = []string{
	"examples/complete/storage.yaml",
	"examples/complete/control-plane.yaml",
	"examples/complete/hypervisors.yaml",
	"examples/cloud/claim.yaml",
	"examples/keystoneservice/control-plane.yaml",
	"examples/keystoneservice/claim.yaml",
}

// configurationName is the name of the Configuration's package.
const configurationName = "configuration-cobaltcore"

// function returns the package.yaml of a function.
func (b builder) function(p program, r *release) ([]byte, error) {
	object, err := b.meta(p.pkg)
	if err != nil {
		return nil, err
	}
	meta, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	r.files["roots/"+p.name+"/crossplane.yaml"] = meta
	return streamOf(meta), nil
}

// configuration adds the package of the API: the definition and the Composition of every kind that has one. A kind that has
// no Composition is not offered.
func (b builder) configuration(r *release) error {
	meta, err := b.configurationMeta()
	if err != nil {
		return err
	}
	compositions, err := filepath.Glob(filepath.Join(b.source.root, "compositions", "*.yaml"))
	if err != nil {
		return err
	}
	if len(compositions) == 0 {
		return errors.New("there are no compositions")
	}
	root := "roots/" + configurationName + "/"
	docs := [][]byte{meta}
	r.files[root+"crossplane.yaml"] = meta
	for _, composition := range compositions {
		kind := strings.TrimSuffix(filepath.Base(composition), ".yaml")
		for name, path := range map[string]string{
			"definition":  filepath.Join(b.source.root, "apis", kind, "definition.yaml"),
			"composition": composition,
		} {
			if r.files[root+kind+"/"+name+".yaml"], err = os.ReadFile(path); err != nil {
				return fmt.Errorf("the Composition %s has no %s: %w", kind, name, err)
			}
		}
		docs = append(docs, r.files[root+kind+"/definition.yaml"], r.files[root+kind+"/composition.yaml"])
	}
	claims, err := b.examples(root, r)
	if err != nil {
		return err
	}
	// A Configuration contains no program, so one image serves all architectures. Crossplane requests its own architecture; registries and
	// clients that check the platform accept the usual one.
	image, err := withPackage(blank(), streamOf(docs...), b.source.time)
	if err != nil {
		return err
	}
	if image, err = withLayer(image, xpkgExamples, b.source.time,
		file{name: xpkgExamplesFolder, mode: 0o755},
		file{name: xpkgExamplesFile, mode: 0o644, data: claims},
	); err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", "amd64", v1.Time{Time: b.source.time}
	maps.Copy(config.Config.Labels, b.annotations("API of CobaltCore"))
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	if r.files[configurationName+".xpkg"], err = tarballOf(image); err != nil {
		return err
	}
	bill, err := b.configurationBill(root, *r)
	if err != nil {
		return err
	}
	r.artifacts = append(r.artifacts, artifact{
		repository: configurationName, tag: b.source.tag(), image: image, bills: []string{r.addBill(configurationName, bill)},
	})
	return nil
}

// examples adds the examples to the files below a root, and returns them as one stream.
func (b builder) examples(root string, r *release) ([]byte, error) {
	claims := make([][]byte, len(examples))
	for i, path := range examples {
		data, err := os.ReadFile(filepath.Join(b.source.root, path))
		if err != nil {
			return nil, err
		}
		r.files[root+path], claims[i] = data, data
	}
	return streamOf(claims...), nil
}

// configurationBill returns the bill of materials of the Configuration, whose files are below a root.
func (b builder) configurationBill(root string, r release) ([]byte, error) {
	files := map[string][]byte{}
	for path, data := range r.files {
		if name, ok := strings.CutPrefix(path, root); ok {
			files[name] = data
		}
	}
	installed, err := b.installedBy(r)
	if err != nil {
		return nil, err
	}
	return filesBill(b.source, ociURL(b.registry, configurationName, b.source.tag(), ""), files, installed)
}

// meta reads the crossplane.yaml of a folder, and adds its README.md and the icon, which installed packages and marketplaces show.
func (b builder) meta(folder string) (map[string]any, error) {
	path := folder + "/crossplane.yaml"
	data, err := os.ReadFile(filepath.Join(b.source.root, path))
	if err != nil {
		return nil, err
	}
	meta := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &meta); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	readme, err := os.ReadFile(filepath.Join(b.source.root, folder, "README.md"))
	if err != nil {
		return nil, err
	}
	icon, err := os.ReadFile(filepath.Join(b.source.root, iconPath))
	if err != nil {
		return nil, err
	}
	object, _ := meta["metadata"].(map[string]any)
	annotations, found := object["annotations"].(map[string]any)
	if !found {
		return nil, fmt.Errorf("%s: metadata.annotations is required; add the annotations of a Crossplane package", path)
	}
	annotations[readmeAnnotation] = string(readme)
	annotations[iconAnnotation] = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon)
	return meta, nil
}

// configurationMeta is the Configuration's crossplane.yaml with our own packages at this registry, in at least this version.
func (b builder) configurationMeta() ([]byte, error) {
	const folder = "package/configuration"
	meta, err := b.meta(folder)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, p := range b.programs {
		own[p.name] = p.pkg != ""
	}
	spec, _ := meta["spec"].(map[string]any)
	found := false
	dependencies, _ := spec["dependsOn"].([]any)
	for _, d := range dependencies {
		dependency, _ := d.(map[string]any)
		name, _ := dependency["package"].(string)
		if name = name[strings.LastIndex(name, "/")+1:]; own[name] {
			dependency["package"] = b.registry + "/" + name
			dependency["version"] = ">=" + b.source.tag()
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s depends on no function of ours", folder)
	}
	return yaml.Marshal(meta)
}

// streamOf joins YAML files into one stream.
func streamOf(files ...[]byte) []byte {
	var out bytes.Buffer
	for _, f := range files {
		out.WriteString("---\n")
		out.Write(bytes.TrimSpace(f))
		out.WriteString("\n")
	}
	return out.Bytes()
}

// withPackage makes an image a package.
func withPackage(image v1.Image, stream []byte, at time.Time) (v1.Image, error) {
	return withLayer(image, xpkgBase, at, file{name: xpkgFile, mode: 0o644, data: stream})
}

// withLayer adds a layer of a package, which clients find by its annotation.
func withLayer(image v1.Image, annotation string, at time.Time, files ...file) (v1.Image, error) {
	layer, err := layerOf(at, files...)
	if err != nil {
		return nil, err
	}
	digest, err := layer.Digest()
	if err != nil {
		return nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:       layer,
		History:     v1.History{Created: v1.Time{Time: at}, CreatedBy: files[len(files)-1].name},
		Annotations: map[string]string{xpkgAnnotation: annotation},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	if config.Config.Labels == nil {
		config.Config.Labels = map[string]string{}
	}
	config.Config.Labels[xpkgAnnotation+":"+digest.String()] = annotation
	return mutate.ConfigFile(image, config)
}

// tarballOf is an image as the file that `crossplane xpkg build` makes.
func tarballOf(image v1.Image) ([]byte, error) {
	var out bytes.Buffer
	err := tarball.Write(nil, image, &out)
	return out.Bytes(), err
}
