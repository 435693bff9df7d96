// Package krew tests the manifest of the plugin for krew: its fields, and that a release builds an archive for each platform.
package krew

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// manifest contains the required fields: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	URI      string `json:"uri"`
	SHA256   string `json:"sha256"`
	Bin      string `json:"bin"`
	Selector struct {
		MatchLabels struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"matchLabels"`
	} `json:"selector"`
}

// archive matches the line of the template that krew-release-bot replaces by the address and the checksum of an archive.
var archive = regexp.MustCompile(`\{\{addURIAndSha "([^"]+)" \.TagName \| indent 4 \}\}`)

func TestManifestListsBuiltPlatforms(t *testing.T) {
	template, err := os.ReadFile("cobaltcore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("build.sh")
	if err != nil {
		t.Fatal(err)
	}
	text := archive.ReplaceAllString(string(template), "uri: $1\n    sha256: 0000")
	text = strings.ReplaceAll(text, "{{ .TagName }}", "v0.1.0")
	m := manifest{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "cobaltcore" ||
		m.Spec.Version != "v0.1.0" || m.Spec.Homepage == "" || m.Spec.Description == "" {
		t.Errorf("manifest: %+v", m)
	}
	if s := m.Spec.ShortDescription; s == "" || len(s) > 50 || strings.HasSuffix(s, ".") {
		t.Errorf("shortDescription: %q must have at most 50 characters and no period", s)
	}
	var got []string
	for _, p := range m.Spec.Platforms {
		os, arch := p.Selector.MatchLabels.OS, p.Selector.MatchLabels.Arch
		got = append(got, os+"/"+arch)
		want := fmt.Sprintf("https://github.com/c5c3/crossplane-cobaltcore/releases/download/v0.1.0/kubectl-cobaltcore_%s_%s.tar.gz", os, arch)
		if p.URI != want || p.Bin != "kubectl-cobaltcore" || p.SHA256 == "" {
			t.Errorf("platform: %+v, want %s", p, want)
		}
	}
	built := regexp.MustCompile(`(?m)^platforms="(.*)"$`).FindSubmatch(script)
	if built == nil {
		t.Fatal("build.sh has no list of platforms")
	}
	want := strings.Fields(string(built[1]))
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-built, +manifest:\n%s", diff)
	}
}

// TestReleaseHasArchivesOfPlugin tests that a release has the archives.
func TestReleaseHasArchivesOfPlugin(t *testing.T) {
	data, err := os.ReadFile("../../.github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hack/krew/build.sh out/packages", "*.tar.gz"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("release.yaml has no %s", want)
		}
	}
}
