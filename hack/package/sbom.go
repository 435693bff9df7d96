package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in CycloneDX 1.6: https://cyclonedx.org/docs/1.6/json/.
type bill struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     billMetadata `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type billMetadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// materials lists the Go modules that the linker put into a program, the standard library, and the certificates in its image.
func materials(p program, src source, arch string, info *debug.BuildInfo) ([]byte, error) {
	parts := []component{
		{Type: "library", Name: "stdlib", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")},
		module(rootsModule()),
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, module(m))
	}
	slices.SortFunc(parts, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	refs := make([]string, len(parts))
	for i := range parts {
		parts[i].Ref = parts[i].PURL
		refs[i] = parts[i].PURL
	}
	purl := fmt.Sprintf("pkg:golang/%s@v%s?goos=linux&goarch=%s", info.Main.Path, src.version, arch)
	out, err := encode(bill{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: billMetadata{
			Timestamp: src.time.Format(time.RFC3339),
			Component: component{
				Type: "application", Ref: purl, Name: p.name, Version: src.version, PURL: purl,
				Properties: []property{{"cobaltcore:revision", src.revision}, {"cobaltcore:package", info.Path}},
			},
		},
		Components:   parts,
		Dependencies: []dependency{{purl, refs}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot write the bill of materials: %w", err)
	}
	return out, nil
}

// encode writes indented JSON that leaves & alone.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}

// module returns the component of a Go module. Its go.sum hash is a property, because it is not the hash of a file, as CycloneDX's hashes
// are.
func module(m *debug.Module) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
	if m.Sum != "" {
		c.Properties = []property{{"cobaltcore:gosum", m.Sum}}
	}
	return c
}
