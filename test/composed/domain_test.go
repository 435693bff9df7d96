package composed

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// otherDomain is the DNS domain of the clusters of TestClusterDomain.
const otherDomain = "kube.prod"

// claims are the kinds of claims.
var claims = regexp.MustCompile(`(?m)^kind: (ControlPlaneCluster|HypervisorCluster|StorageCluster)$`)

// TestClusterDomain composes the claims of all examples for clusters with another DNS domain. No object may have the name of a Service with
// the usual one, and names that are written out have to have the other one.
func TestClusterDomain(t *testing.T) {
	platform := strings.Replace(string(examples.Platform), "\nspec:\n", "\nspec:\n  clusterDomain: "+otherDomain+"\n", 1)
	files := map[string]*cloud{}
	var compose func(file string) *cloud
	compose = func(file string) *cloud {
		if files[file] != nil {
			return files[file]
		}
		var there []*structpb.Struct
		for _, r := range references[file] {
			there = append(there, compose(r).result.Existing...)
		}
		data, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		claim := parsed(t, string(data))
		spec, _ := claim["spec"].(map[string]any)
		if claim["kind"] == "ControlPlaneCluster" { // Valkey's operator knows no other domain, and the claim is refused.
			claim["spec"] = merged(spec, parsed(t, "{infrastructure: {valkey: {enabled: false, replicas: null, sentinel: null}}}"))
		}
		if data, err = yaml.Marshal(claim); err != nil {
			t.Fatal(err)
		}
		c, err := composeOn([]byte(platform), file, data, there)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		files[file] = c
		return c
	}
	var all []string
	if err := fs.WalkDir(examples.Files, ".", func(path string, _ fs.DirEntry, err error) error {
		data, _ := examples.Files.ReadFile(path)
		if claims.Match(data) {
			all = append(all, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, file := range effort.Sample(all, 5) {
		for _, o := range compose(file).objects {
			data, err := json.Marshal(o.manifest)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(data, []byte("cluster.local")); i >= 0 {
				t.Errorf("%s: %s has the usual domain: %s", file, o, data[max(0, i-80):min(len(data), i+40)])
			}
			if bytes.Contains(data, []byte("svc."+otherDomain)) {
				written[o.Kind] = true
			}
		}
	}
	// Without names that are written out, nothing was looked at.
	if !written["Certificate"] {
		t.Errorf("only %v have the other domain; certificates have to name it", slices.Sorted(maps.Keys(written)))
	}
	t.Logf("%d of %d claims; kinds with the other domain: %v", len(files), len(all), slices.Sorted(maps.Keys(written)))
}
