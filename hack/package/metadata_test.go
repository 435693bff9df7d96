package main

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestPackagesHaveMarketplaceMetadata reads the built packages as a marketplace does, and their bills of materials.
func TestPackagesHaveMarketplaceMetadata(t *testing.T) {
	out := t.TempDir()
	if err := run(t.Context(), []string{"-root", checkout(t), "-out", out}, io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Run("Annotations", func(t *testing.T) { checkAnnotations(t, out) })
	t.Run("Examples", func(t *testing.T) { checkExamples(t, out) })
	t.Run("Bills", func(t *testing.T) { checkBills(t, out) })
}

// checkAnnotations checks the annotations of the packages in a folder, with readme and icon.
func checkAnnotations(t *testing.T, out string) {
	t.Helper()
	cases := map[string]struct {
		reason string
		object string
		folder string
		want   map[string]any
	}{
		"function-cobaltcore-amd64": {
			reason: "A function is found by its name and description.",
			object: "Function/function-cobaltcore",
			folder: "package/function",
			want: map[string]any{
				"friendly-name.meta.crossplane.io": "CobaltCore functions",
				"meta.crossplane.io/description":   "Composition functions of CobaltCore, an OpenStack distribution for Kubernetes.",
			},
		},
		"configuration-cobaltcore": {
			reason: "A Configuration is found by its name and description.",
			object: "Configuration/configuration-cobaltcore",
			folder: "package/configuration",
			want: map[string]any{
				"friendly-name.meta.crossplane.io": "CobaltCore",
				"meta.crossplane.io/description":   "OpenStack clouds from claims; control planes, hypervisors and Ceph.",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object, ok := objects(t, filepath.Join(out, name+".xpkg"), xpkgFile)[tc.object].(map[string]any)
			if !ok {
				t.Fatalf("%s is missing", tc.object)
			}
			got, _ := object["metadata"].(map[string]any)["annotations"].(map[string]any)
			readme, err := os.ReadFile(filepath.Join(repository, tc.folder, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(tc.want, map[string]any{
				"meta.crossplane.io/maintainer": "CobaltCore <https://github.com/c5c3>",
				"meta.crossplane.io/source":     homepage,
				"meta.crossplane.io/license":    "Apache-2.0",
				"meta.crossplane.io/readme":     string(readme),
				"meta.crossplane.io/iconURI":    got[iconAnnotation],
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nannotations (-want, +got):\n%s", tc.reason, diff)
			}
			checkIcon(t, got[iconAnnotation].(string))
			checkLinks(t, string(readme))
		})
	}
}

// checkIcon checks that an icon is a small SVG image without scripts or references.
func checkIcon(t *testing.T, uri string) {
	t.Helper()
	encoded, ok := strings.CutPrefix(uri, "data:image/svg+xml;base64,")
	if !ok {
		t.Fatalf("the icon is no data URI: %s", uri)
	}
	icon, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for d := xml.NewDecoder(bytes.NewReader(icon)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			names = append(names, start.Name.Local)
		}
	}
	if names[0] != "svg" || slices.Contains(names, "script") || slices.Contains(names, "image") || len(icon) > 4096 {
		t.Errorf("the icon of %d bytes has the elements %v", len(icon), names)
	}
}

// checkLinks checks that a readme has absolute links only, and that their files exist.
func checkLinks(t *testing.T, readme string) {
	t.Helper()
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(readme, -1)
	if len(links) == 0 {
		t.Error("the readme has no links")
	}
	for _, link := range links {
		file, ok := strings.CutPrefix(link[1], homepage+"/blob/main/")
		switch {
		case link[1] == homepage:
			continue
		case !ok:
			t.Errorf("the link %s does not begin with %s", link[1], homepage)
			continue
		}
		if _, err := os.Stat(filepath.Join(repository, file)); err != nil {
			t.Errorf("a link leads to no file: %v", err)
		}
	}
}

// checkExamples checks that the Configuration has an example of every claim, and that the layer has the annotation of marketplaces.
func checkExamples(t *testing.T, out string) {
	t.Helper()
	path := filepath.Join(out, configurationName+".xpkg")
	claims := map[string]bool{}
	for _, object := range objects(t, path, xpkgFile) {
		spec, _ := object.(map[string]any)["spec"].(map[string]any)
		if names, ok := spec["claimNames"].(map[string]any); ok {
			claims[names["kind"].(string)] = true
		}
	}
	shown := map[string]bool{}
	for name := range objects(t, path, xpkgExamplesFile) {
		kind, _, _ := strings.Cut(name, "/")
		shown[kind] = true
	}
	if diff := cmp.Diff(claims, shown); diff != "" || len(claims) == 0 {
		t.Errorf("kinds of claims with examples (-want, +got):\n%s", diff)
	}
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if layer := labeled(t, image, "upbound"); layer[xpkgExamplesFile].data == nil {
		t.Errorf("the layer of the examples contains %v", slices.Collect(maps.Keys(layer)))
	}
}

// labeled returns the files in the layer of a package with this value of the annotation.
func labeled(t *testing.T, image v1.Image, value string) map[string]entry {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]entry{}
	for label, v := range config.Config.Labels {
		if digest, ok := strings.CutPrefix(label, xpkgAnnotation+":"); ok && v == value {
			hash, err := v1.NewHash(digest)
			if err != nil {
				t.Fatal(err)
			}
			layer, err := image.LayerByDigest(hash)
			if err != nil {
				t.Fatal(err)
			}
			untar(t, layer, out)
		}
	}
	return out
}

// checkBills checks that each artifact has bills of materials, and their components.
func checkBills(t *testing.T, out string) {
	t.Helper()
	cases := map[string]struct {
		reason string
		main   string
		want   []string
	}{
		"function-cobaltcore-amd64": {
			"A program lists Go's standard library.",
			"pkg:golang/example.org/m@v0.3.0?goos=linux&goarch=amd64", []string{"stdlib"},
		},
		"crossplane-cobaltcore-companion-arm64": {
			"Each architecture of each image has a bill.",
			"pkg:golang/example.org/m@v0.3.0?goos=linux&goarch=arm64", []string{"stdlib", rootsPath},
		},
		"configuration-cobaltcore": {
			"A Configuration lists its files, and the function that it installs.",
			"pkg:oci/configuration-cobaltcore?repository_url=ghcr.io/c5c3/configuration-cobaltcore&tag=v0.3.0",
			[]string{"function-cobaltcore", "crossplane.yaml", "controlplane/definition.yaml"},
		},
		"crossplane-cobaltcore-chart": {
			"A chart lists its files, and the packages that it installs.",
			"pkg:oci/crossplane-cobaltcore?repository_url=ghcr.io/c5c3/charts/crossplane-cobaltcore&tag=0.3.0",
			[]string{"configuration-cobaltcore", "crossplane-cobaltcore-companion", "templates/function.yaml", "values.yaml"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(out, name+".cdx.json"))
			if err != nil {
				t.Fatal(err)
			}
			bom := cyclonedx.BOM{}
			if err := cyclonedx.NewBOMDecoder(bytes.NewReader(data), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
				t.Fatal(err)
			}
			if got := bom.Metadata.Component; got.PackageURL != tc.main || got.Version != "0.3.0" {
				t.Errorf("%s\nwant %s in version 0.3.0, got: %+v", tc.reason, tc.main, got)
			}
			names := map[string]bool{}
			for _, c := range *bom.Components {
				names[c.Name] = true
			}
			for _, name := range tc.want {
				if !names[name] {
					t.Errorf("%s\nwant %s, got: %v", tc.reason, name, slices.Sorted(maps.Keys(names)))
				}
			}
			if refs := *(*bom.Dependencies)[0].Dependencies; len(refs) != len(*bom.Components) {
				t.Errorf("%d of %d components are dependencies", len(refs), len(*bom.Components))
			}
		})
	}
}
