package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// materials lists the Go modules that the linker put into a program, the standard library, and the certificates in its image.
func materials(p program, src source, arch string, info *debug.BuildInfo) ([]byte, error) {
	parts := []cyclonedx.Component{
		{
			Type: cyclonedx.ComponentTypeLibrary, Name: "stdlib", Version: info.GoVersion,
			PackageURL: "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"),
		},
		module(rootsModule()),
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, module(m))
	}
	for i := range parts {
		parts[i].BOMRef = parts[i].PackageURL
	}
	return bill(src, cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: p.name,
		PackageURL: fmt.Sprintf("pkg:golang/%s@v%s?goos=linux&goarch=%s", info.Main.Path, src.version, arch),
		Properties: &[]cyclonedx.Property{
			{Name: "cobaltcore:revision", Value: src.revision},
			{Name: "cobaltcore:package", Value: info.Path},
		},
	}, parts)
}

// filesBill lists the files of an artifact that contains no program, with their hashes, and the artifacts that it installs.
func filesBill(src source, url string, files map[string][]byte, installed []cyclonedx.Component) ([]byte, error) {
	parts := installed
	for _, name := range slices.Sorted(maps.Keys(files)) {
		hash := sha256.Sum256(files[name])
		parts = append(parts, cyclonedx.Component{
			Type: cyclonedx.ComponentTypeFile, BOMRef: "file:" + name, Name: name,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(hash[:])}},
		})
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(url, "pkg:oci/"), "?")
	return bill(src, cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: name, PackageURL: url,
		Properties: &[]cyclonedx.Property{{Name: "cobaltcore:revision", Value: src.revision}},
	}, parts)
}

// installedBy returns the components of all artifacts that are built already, which the Configuration and the chart install.
func (b builder) installedBy(r release) ([]cyclonedx.Component, error) {
	var out []cyclonedx.Component
	for _, a := range r.artifacts {
		digest, err := a.appendable().Digest()
		if err != nil {
			return nil, fmt.Errorf("cannot compute the digest of %s: %w", a.repository, err)
		}
		url := ociURL(b.registry, a.repository, a.tag, digest.String())
		out = append(out, cyclonedx.Component{
			Type: cyclonedx.ComponentTypeContainer, BOMRef: url, Name: a.repository, Version: b.source.version, PackageURL: url,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest.Hex}},
		})
	}
	return out, nil
}

// bill writes a bill of materials of a component, which depends on all of its parts, in CycloneDX.
func bill(src source, main cyclonedx.Component, parts []cyclonedx.Component) ([]byte, error) {
	main.BOMRef, main.Version = main.PackageURL, src.version
	slices.SortFunc(parts, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, len(parts))
	for i, part := range parts {
		refs[i] = part.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: src.time.Format(time.RFC3339), Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).
		EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	if err != nil {
		return nil, fmt.Errorf("cannot write the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// module returns the component of a Go module. Its go.sum hash is a property, because it is not the hash of a file, as CycloneDX's hashes
// are.
func module(m *debug.Module) cyclonedx.Component {
	c := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version,
	}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "cobaltcore:gosum", Value: m.Sum}}
	}
	return c
}

// ociURL returns the package URL of an artifact in a registry with a path, with its digest unless that is empty:
// https://github.com/package-url/purl-spec/blob/main/types-doc/oci-definition.md.
func ociURL(registry, repository, tag, digest string) string {
	url := "pkg:oci/" + path.Base(repository)
	if digest != "" {
		url += "@" + strings.ReplaceAll(digest, ":", "%3A")
	}
	return url + "?repository_url=" + registry + "/" + repository + "&tag=" + tag
}
