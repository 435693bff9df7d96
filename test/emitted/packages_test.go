package emitted_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// TestPackageVerificationTrustsReleaseWorkflowOnly checks the example with which Crossplane verifies packages: API servers accept it, it
// matches the packages of the chart, and it trusts tags of the release workflow only.
func TestPackageVerificationTrustsReleaseWorkflowOnly(t *testing.T) {
	objects := example(t, "packages/verification.yaml")
	if len(objects) != 1 {
		t.Fatalf("the example has %d objects", len(objects))
	}
	config := objects[0].Object
	for _, err := range crds.Load(t).Validate(config) {
		t.Error(err)
	}

	data, err := os.ReadFile("../../package/chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := struct {
		Packages struct {
			Registry string `json:"registry"`
		} `json:"packages"`
	}{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	var prefixes []string
	images, _, _ := unstructured.NestedSlice(config, "spec", "matchImages")
	for _, image := range images {
		prefixes = append(prefixes, image.(map[string]any)["prefix"].(string))
	}
	if want := []string{values.Packages.Registry + "/configuration-cobaltcore", values.Packages.Registry + "/function-cobaltcore"}; !slices.Equal(prefixes, want) {
		t.Errorf("want the prefixes %v, got %v", want, prefixes)
	}

	authorities, _, _ := unstructured.NestedSlice(config, "spec", "verification", "cosign", "authorities")
	identities, _, _ := unstructured.NestedSlice(authorities[0].(map[string]any), "keyless", "identities")
	if len(authorities) != 1 || len(identities) != 1 {
		t.Fatalf("want one identity of one authority, got %v", authorities)
	}
	subject := regexp.MustCompile(identities[0].(map[string]any)["subjectRegExp"].(string))
	const workflow = "https://github.com/c5c3/crossplane-cobaltcore/.github/workflows/release.yaml@refs/tags/v"
	for identity, want := range map[string]bool{
		workflow + release.Version: true,
		workflow + "10.20.30":      true,
		workflow + "0.1.0-rc.1":    false,
		workflow + "0.1.0/x":       false,
		"https://github.com/c5c3/crossplane-cobaltcore/.github/workflows/release.yaml@refs/heads/main":             false,
		"https://github.com/c5c3/crossplane-cobaltcore/.github/workflows/images.yaml@refs/tags/v0.1.0":             false,
		"https://github.com/other/crossplane-cobaltcore/.github/workflows/release.yaml@refs/tags/v0.1.0":           false,
		"https://github.com.example.org/c5c3/crossplane-cobaltcore/.github/workflows/release.yaml@refs/tags/v0.1.": false,
	} {
		if got := subject.MatchString(identity); got != want {
			t.Errorf("%s: want trusted %t, got %t", identity, want, got)
		}
	}
}
