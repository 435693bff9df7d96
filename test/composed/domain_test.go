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

// otherDomain is the DNS domain of the clusters of TestObjectsUseConfiguredClusterDomain.
const otherDomain = "kube.prod"

// claims are the kinds of claims.
var claims = regexp.MustCompile(`(?m)^kind: (ControlPlaneCluster|HypervisorCluster|StorageCluster)$`)

// composeExamples composes claims of examples, and the claims to which they refer, on a platform with an additional setting. edit changes a claim.
func composeExamples(t *testing.T, setting string, share int, edit func(claim map[string]any)) map[string]*cloud {
	t.Helper()
	platform := strings.Replace(string(examples.Platform), "\nspec:\n", "\nspec:\n  "+setting+"\n", 1)
	files := map[string]*cloud{}
	var compose func(file string)
	compose = func(file string) {
		if files[file] != nil {
			return
		}
		var there []*structpb.Struct
		for _, r := range references[file] {
			compose(r)
			there = append(there, files[r].result.Existing...)
		}
		data, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		claim := parsed(t, string(data))
		edit(claim)
		if data, err = yaml.Marshal(claim); err != nil {
			t.Fatal(err)
		}
		if files[file], err = composeOn([]byte(platform), file, data, there); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
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
	for _, file := range effort.Sample(all, share) {
		compose(file)
	}
	t.Logf("%d of %d claims", len(files), len(all))
	return files
}

// TestObjectsUseConfiguredClusterDomain composes the claims of all examples for clusters with another DNS domain. No object may have the
// name of a Service with the usual one, and names that are written out have to have the other one.
func TestObjectsUseConfiguredClusterDomain(t *testing.T) {
	written := map[string]bool{}
	for file, c := range composeExamples(t, "clusterDomain: "+otherDomain, 5, func(claim map[string]any) {
		if spec, _ := claim["spec"].(map[string]any); claim["kind"] == "ControlPlaneCluster" { // Valkey's operator supports only the default domain.
			claim["spec"] = merged(spec, parsed(t, "{infrastructure: {valkey: {enabled: false, replicas: null, sentinel: null}}}"))
		}
	}) {
		for _, o := range c.objects {
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
	t.Logf("kinds with the other domain: %v", slices.Sorted(maps.Keys(written)))
}
