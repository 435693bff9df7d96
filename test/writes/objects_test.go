package writes

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// TestCompositesHaveLimitedObjects checks that no composite resource has more than 75 objects: all of them are applied whenever one of them
// changes, so that the cost until they are ready grows with the square of their number. Larger ones must be split.
func TestCompositesHaveLimitedObjects(t *testing.T) {
	const most = 75
	files, err := examples.Files.ReadDir("controlplane")
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string][]byte{"full.yaml with all services": everyService(t)}
	for _, file := range files {
		if claims[file.Name()], err = examples.Files.ReadFile(path.Join("controlplane", file.Name())); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range effort.Sample(slices.Sorted(maps.Keys(claims)), 6) {
		claim := claims[name]
		t.Run(name, func(t *testing.T) {
			for name, n := range converge(t, claim, atOnce).root.sizes() {
				t.Logf("%s: %d objects", name, n)
				if n > most {
					t.Errorf("%s has %d objects, %d at most", name, n, most)
				}
			}
		})
	}
}

// everyService returns the example with all features and all services.
func everyService(t *testing.T) []byte {
	t.Helper()
	claim, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const services = `
    placement:
      enabled: true
    glance:
      enabled: true
      stores: [{name: main, s3: {endpoint: https://s3.example.com, bucket: images, credentialsSecretRef: {name: images-s3}}}]
`
	const section = "\n  services:\n"
	if !bytes.Contains(claim, []byte(section)) {
		t.Fatal("the example has no services")
	}
	return bytes.Replace(claim, []byte(section), []byte(section+services[1:]), 1)
}

// sizes returns the number of objects of a composite resource and of nested ones, by kind and name.
func (x *xr) sizes() map[string]int {
	meta, _ := x.object["metadata"].(map[string]any)
	out := map[string]int{fmt.Sprintf("%v %v", x.object["kind"], meta["name"]): len(x.composed)}
	for _, c := range x.composed {
		if c.nested != nil {
			maps.Copy(out, c.nested.sizes())
		}
	}
	return out
}
