package images_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// table is the table, which has to be readable.
func table(t *testing.T) []images.Image {
	t.Helper()
	all, err := images.Table()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTable: every row can be built, and is what internal/openstack/release calls for.
func TestTable(t *testing.T) {
	debian := regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]+$`)
	for _, i := range table(t) {
		t.Run(i.Name, func(t *testing.T) {
			for _, r := range release.Releases() {
				if _, err := i.Reference(r); err != nil {
					t.Errorf("no function asks for this image: %v", err)
				}
			}
			of, part := release.ServiceOf(i.Name)
			if service := slices.Contains(release.Services(), i.Name) || part; service != (i.Package != "") || part && of != i.Package {
				t.Errorf("a service has a package, a part of one has the service's, and nothing else has one: %q", i.Package)
			}
			recipe, err := i.Containerfile()
			if err != nil {
				t.Fatalf("its recipe is missing: %v", err)
			}
			last := recipe[strings.LastIndex(recipe, "\nFROM "):]
			if !regexp.MustCompile(`(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`).MatchString(last) {
				t.Error("Kubernetes sees that a user is not root only where it is a number")
			}
			if strings.Contains(last, "COMPILE") || strings.Contains(last, "gcc") {
				t.Error("no compiler belongs into what runs")
			}
			for _, m := range i.Modules {
				if !slices.Contains(i.Runtime, "python3-"+m) {
					t.Errorf("no package of the image has the module %s", m)
				}
			}
			for _, p := range slices.Concat(i.Compile, i.Runtime, i.Pages) {
				if !debian.MatchString(p) {
					t.Errorf("%q is not the name of a Debian package", p)
				}
			}
		})
	}
}

// TestMemcachedImagesRequireCryptography checks that images with a client of memcached can encrypt its entries.
func TestMemcachedImagesRequireCryptography(t *testing.T) {
	clients := 0
	for _, i := range table(t) {
		if slices.Contains(i.Requires, "python-memcached") || slices.Contains(i.Requires, "pymemcache") {
			clients++
			if !slices.Contains(i.Requires, "cryptography") {
				t.Errorf("%s requires a client of memcached, and not cryptography", i.Name)
			}
		}
	}
	if clients < 9 {
		t.Errorf("only %d images have a client of memcached", clients)
	}
}

// TestOnlyPatchedImagesHaveRevisions: an image has a revision in its tag if, and only if, it is patched.
func TestOnlyPatchedImagesHaveRevisions(t *testing.T) {
	for _, i := range table(t) {
		for _, r := range release.Releases() {
			patches, err := i.Patches(r)
			if err != nil {
				t.Fatal(err)
			}
			overrides, err := i.Overrides(r)
			if err != nil {
				t.Fatal(err)
			}
			if changed := len(patches)+len(overrides) > 0; changed != (i.Revisions[r] > 0) {
				t.Errorf("%s in %s: %d patches, %d overrides, revision %d", i.Name, r, len(patches), len(overrides), i.Revisions[r])
			}
			for _, p := range patches {
				if !regexp.MustCompile(`^[0-9]{4}-[a-z0-9.-]+\.patch$`).MatchString(p.Name) {
					t.Errorf("%s in %s: %s does not say its place, as in 0001-what-it-does.patch", i.Name, r, p.Name)
				}
				if !strings.Contains(string(p.Text), "\n+++ b/") {
					t.Errorf("%s in %s: %s is no patch of git", i.Name, r, p.Name)
				}
			}
		}
	}
}

func TestReference(t *testing.T) {
	i := images.Image{Name: "keystone", Package: "keystone", Revisions: map[release.Release]int{"2025.2": 3}}
	for r, want := range map[release.Release]string{
		"2025.1": "ghcr.io/c5c3/keystone:27.1.0",
		"2025.2": "ghcr.io/c5c3/keystone:28.1.0-p3",
	} {
		got, err := i.Reference(r)
		if err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		tag := got[strings.LastIndex(got, ":")+1:]
		if _, err := release.ImageFor(i.Name, r, release.Override{Tag: tag}); err != nil {
			t.Errorf("a claim cannot ask for the tag: %v", err)
		}
	}
}

func TestRequirements(t *testing.T) {
	plugins := []images.Plugin{{Package: "keystone-ui", Versions: map[release.Release]string{"2025.2": "3.1.0"}}}
	for name, tc := range map[string]struct {
		reason  string
		plugins []images.Plugin
		release release.Release
		sources string
		want    []string
		err     string
	}{
		"Release": {"The service has its version.", nil, "2025.2", "", []string{"keystone==28.1.0", "PyMySQL"}, ""},
		"Sources": {"They take the place of the version.", nil, "2025.2", "/src", []string{"keystone @ file:///src", "PyMySQL"}, ""},
		"Plugin":  {"It has the version of the release.", plugins, "2025.2", "", []string{"keystone==28.1.0", "PyMySQL", "keystone-ui==3.1.0"}, ""},
		"Unknown": {"No other version is guessed.", plugins, "2026.1", "", nil, "keystone-ui has no version in 2026.1"},
	} {
		t.Run(name, func(t *testing.T) {
			i := images.Image{Name: "keystone", Package: "keystone", Requires: []string{"PyMySQL"}, Plugins: tc.plugins}
			got, err := i.Requirements(tc.release, "28.1.0", tc.sources)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPluginsHaveVersions: each plug-in has a version in each release, and none twice.
func TestPluginsHaveVersions(t *testing.T) {
	found := 0
	for _, i := range table(t) {
		for _, p := range i.Plugins {
			seen := map[string]release.Release{}
			for _, r := range release.Releases() {
				found++
				v := p.Versions[r]
				if was, twice := seen[v]; v == "" || twice {
					t.Errorf("%s: %s of %s is %q, which %q has, too", i.Name, p.Package, r, v, was)
				}
				seen[v] = r
			}
		}
	}
	if found == 0 {
		t.Error("no image has a plug-in")
	}
}

func TestConstrain(t *testing.T) {
	const constraints = "oslo.db==17.4.0\n# why\noslo.log==7.2.1;python_version>='3.10'\n"
	cases := map[string]struct {
		reason    string
		overrides []string
		want, err string
	}{
		"None":       {"They stay as they are.", nil, "oslo.db==17.4.0\noslo.log==7.2.1;python_version>='3.10'\n", ""},
		"One":        {"It takes the place of the release's.", []string{"oslo.db==17.4.1"}, "oslo.db==17.4.1\noslo.log==7.2.1;python_version>='3.10'\n", ""},
		"Spelling":   {"Names are compared as the index does.", []string{"Oslo_Log==8.0.0"}, "oslo.db==17.4.0\nOslo_Log==8.0.0\n", ""},
		"Misspelled": {"One that changes nothing is a mistake.", []string{"oslo.bd==1"}, "", `the override "oslo.bd==1" is of a distribution`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := images.Constrain(constraints, tc.overrides)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOverrides: every override is of something that the release constrains.
func TestOverrides(t *testing.T) {
	for _, i := range table(t) {
		for _, r := range release.Releases() {
			overrides, err := i.Overrides(r)
			if err != nil {
				t.Fatal(err)
			}
			constraints, err := os.ReadFile(filepath.Join("..", "hack", "registry", "constraints", string(r)+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := images.Constrain(string(constraints), overrides); err != nil {
				t.Errorf("%s in %s: %v", i.Name, r, err)
			}
		}
	}
}

func TestFind(t *testing.T) {
	if _, err := images.Find("keystone"); err != nil {
		t.Error(err)
	}
	if _, err := images.Find("keystoen"); err == nil || !strings.Contains(err.Error(), "choose one of keystone") {
		t.Errorf("got %v, want an error with the names that there are", err)
	}
}
