package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"
)

// crossplane is the real CLI. Building it takes minutes, so only `make test-package` sets it.
var crossplane = os.Getenv("CROSSPLANE")

// TestBuildsAreReproducible builds the same commit in two folders, and another commit.
func TestBuildsAreReproducible(t *testing.T) {
	root, other := checkout(t), t.TempDir()
	gitIn(t, other, "clone", "-q", root, ".")
	outs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	build := func(root, out string) {
		t.Helper()
		if err := run(t.Context(), []string{"-root", root, "-out", out}, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	build(root, outs[0])
	build(other, outs[1])
	first := tree(t, outs[0])
	if diff := cmp.Diff(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(tree(t, outs[1])))); diff != "" {
		t.Errorf("other files (-first, +second):\n%s", diff)
	}
	for path, data := range tree(t, outs[1]) {
		if data != first[path] {
			t.Errorf("%s differs", path)
		}
	}
	// A change is seen, even before it is committed.
	if err := os.WriteFile(filepath.Join(other, "functions/main.go"), []byte("package main\n\nfunc main() { println(2) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build(other, outs[2])
	if third := tree(t, outs[2]); third["digests.txt"] == first["digests.txt"] || !strings.Contains(third["oci/index.json"], "sha256:") {
		t.Errorf("another program has the same digests:\n%s", third["digests.txt"])
	}
	// The output of an earlier run is replaced; other folders are not changed.
	retained := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(retained, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	build(root, filepath.Dir(retained))
	if _, err := os.Stat(retained); err != nil {
		t.Error("a file that was not ours is gone")
	}
	build(root, filepath.Dir(retained))
	if _, err := os.Stat(retained); err == nil {
		t.Error("an old file is still there")
	}
}

// TestPush pushes to a registry and checks the artifacts that Crossplane, Kubernetes and Helm pull.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://") + "/c5c3"
	out := t.TempDir()
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-root", checkout(t), "-out", out, "-registry", host, "-push"}, &stdout); err != nil {
		t.Fatal(err)
	}
	pulled := func(ref string) *remote.Descriptor {
		t.Helper()
		tag, err := name.NewTag(host + "/" + ref)
		if err != nil {
			t.Fatal(err)
		}
		d, err := remote.Get(tag)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stdout.String(), d.Digest.String()+"  "+ref+"\n") {
			t.Errorf("%s is %s, which differs from the output:\n%s", ref, d.Digest, stdout.String())
		}
		return d
	}

	index, err := pulled("function-cobaltcore:v0.3.0").ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkProgram(t, image, m.Platform.Architecture)
		if stream := stream(t, image); !strings.Contains(stream, "kind: Function") {
			t.Errorf("package.yaml is no Function:\n%s", stream)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want, +got):\n%s", diff)
	}

	pulled("crossplane-cobaltcore-companion:0.3.0") // The tag that internal/openstack/release names has no v.

	configuration, err := pulled("configuration-cobaltcore:v0.3.0").Image()
	if err != nil {
		t.Fatal(err)
	}
	checkConfiguration(t, stream(t, configuration), host)

	chart, err := pulled("charts/crossplane-cobaltcore:0.3.0").Image()
	if err != nil {
		t.Fatal(err)
	}
	checkChart(t, chart, host, filepath.Join(out, "crossplane-cobaltcore-0.3.0.tgz"))
}

// checkProgram looks at an image as a kubelet does.
func checkProgram(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != arch || config.Config.User != "65532:65532" || config.Created.Format("2006-01-02 15:04:05") != "2026-01-02 03:04:05" {
		t.Errorf("%s: architecture %s, user %q, created %s", arch, config.Architecture, config.Config.User, config.Created)
	}
	files := contents(t, image)
	entry, ok := files[strings.TrimPrefix(config.Config.Entrypoint[0], "/")]
	if !ok || entry.mode != 0o755 || !bytes.HasPrefix(entry.data, []byte("\x7fELF")) {
		t.Errorf("%s: the entrypoint %v is no program", arch, config.Config.Entrypoint)
	}
	if certificates := files["etc/ssl/certs/ca-certificates.crt"]; bytes.Count(certificates.data, []byte("BEGIN CERTIFICATE")) < 50 {
		t.Errorf("%s: there are hardly any certificates", arch)
	}
	if passwd := files["etc/passwd"]; !bytes.Contains(passwd.data, []byte("nonroot:x:65532:65532:")) {
		t.Errorf("%s: the user has no entry:\n%s", arch, passwd.data)
	}
	b := cyclonedx.BOM{}
	if err := json.Unmarshal(files["usr/share/sbom/function-cobaltcore.cdx.json"].data, &b); err != nil {
		t.Fatal(err)
	}
	if b.BOMFormat != "CycloneDX" || b.Metadata.Component.Version != "0.3.0" || !slices.ContainsFunc(*b.Components, func(c cyclonedx.Component) bool { return c.Name == "stdlib" }) {
		t.Errorf("%s: the bill of materials is incomplete: %+v", arch, b)
	}
}

// checkConfiguration looks at the documents of the Configuration.
func checkConfiguration(t *testing.T, stream, host string) {
	t.Helper()
	var kinds []string
	for i, doc := range strings.Split(strings.TrimPrefix(stream, "---\n"), "\n---\n") {
		o := struct {
			Kind string `json:"kind"`
			Spec struct {
				DependsOn []map[string]string `json:"dependsOn"`
			} `json:"spec"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}{}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "" { // definitions begin with a separator of their own
			continue
		}
		kinds = append(kinds, o.Kind+"/"+o.Metadata.Name)
		if i == 0 && (o.Spec.DependsOn[0]["package"] != host+"/function-cobaltcore" || o.Spec.DependsOn[0]["version"] != ">=v0.3.0") {
			t.Errorf("the function has another source: %v", o.Spec.DependsOn)
		}
	}
	if !slices.Contains(kinds, "CompositeResourceDefinition/xcontrolplaneclusters.crossplane.c5c3.io") || !slices.Contains(kinds, "Composition/controlplane") {
		t.Errorf("control planes are missing: %v", kinds)
	}
	count := func(kind string) int {
		return len(slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !strings.HasPrefix(k, kind+"/") }))
	}
	if count("CompositeResourceDefinition") != count("Composition") {
		t.Errorf("a kind is offered that nothing composes, or the other way round: %v", kinds)
	}
}

// checkChart looks at a chart as Helm does.
func checkChart(t *testing.T, image v1.Image, host, archive string) {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfigType || manifest.Layers[0].MediaType != chartLayerType {
		t.Errorf("media types %s and %s are not a chart's", manifest.Config.MediaType, manifest.Layers[0].MediaType)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pushed, written) {
		t.Error("the chart in the registry is not the one in the folder")
	}
	zip, err := tarball.LayerFromFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]entry{}
	untar(t, zip, files)
	if values := files["crossplane-cobaltcore/values.yaml"].data; !bytes.Contains(values, []byte("\n  registry: "+host+"\n")) {
		t.Errorf("the chart installs packages of another registry:\n%s", values)
	}
	if meta := files["crossplane-cobaltcore/Chart.yaml"].data; !bytes.Contains(meta, []byte("\nversion: 0.3.0\n")) {
		t.Errorf("the chart has another version:\n%s", meta)
	}
	if files["crossplane-cobaltcore/templates/_helpers.tpl"].data == nil {
		t.Error("a template is missing")
	}
}

// TestReportsErrorsOfFailedBuilds checks the error messages of failed builds.
func TestReportsErrorsOfFailedBuilds(t *testing.T) {
	empty := t.TempDir()
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Version":    {"A version is semantic.", []string{"-version", "latest"}, `version "latest" is not a semantic version`},
		"Build":      {"A tag has no +.", []string{"-version", "1.0.0+x"}, "is not a semantic version"},
		"NoVersion":  {"The version is in one place.", []string{"-root", empty}, "cannot find the version"},
		"NoCommit":   {"Without a commit there is no time.", []string{"-root", empty, "-version", "1.0.0"}, "a clone with .git is required"},
		"NoPassword": {"cosign cannot ask for it.", []string{"-push", "-sign", "cosign", "-key", "cosign.key"}, "COSIGN_PASSWORD: is required"},
		"Unpushed":   {"Signatures are in a registry.", []string{"-sign", "cosign"}, "-sign requires -push"},
		"NoRegistry": {"A registry is an address.", []string{"-root", checkout(t), "-out", t.TempDir(), "-push", "-registry", "NO/WHERE"}, "cannot push"},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			args := tc.args
			if !slices.Contains(args, "-root") {
				args = append([]string{"-root", repository}, args...)
			}
			if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestPackagesMatchCrossplaneCLI builds the same packages with the real CLI, which parses and lints them, and compares the objects.
func TestPackagesMatchCrossplaneCLI(t *testing.T) {
	if crossplane == "" {
		t.Skip("run by `make test-package`, which builds the crossplane CLI first")
	}
	out := t.TempDir()
	if err := run(t.Context(), []string{"-root", checkout(t), "-out", out}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for root, args := range map[string][]string{
		"configuration-cobaltcore": nil,
		"function-cobaltcore":      {"--embed-runtime-image-tarball", filepath.Join(out, "function-cobaltcore-amd64.xpkg")},
	} {
		file := filepath.Join(t.TempDir(), "theirs.xpkg")
		folder := filepath.Join(out, "roots", root)
		cmd := exec.Command(crossplane, append([]string{
			"xpkg", "build", "--package-root", folder, "--examples-root", filepath.Join(folder, "examples"), "-o", file,
		}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", root, err, text)
		}
		managed := root + ".xpkg"
		if args != nil {
			managed = root + "-amd64.xpkg"
		}
		for _, stream := range []string{xpkgFile, xpkgExamplesFile} {
			want, got := objects(t, file, stream), objects(t, filepath.Join(out, managed), stream)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-crossplane xpkg build, +ours):\n%s", stream, root, diff)
			}
			if len(got) == 0 && (stream == xpkgFile || root == configurationName) {
				t.Errorf("%s of %s is empty", stream, root)
			}
		}
	}
}

// objects returns the objects in a stream of a package file, by kind and name. Fields that the CLI adds when it writes typed objects are
// dropped.
func objects(t *testing.T, file, stream string) map[string]any {
	t.Helper()
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for doc := range strings.SplitSeq("\n"+contents(t, image)[stream].text(), "\n---") {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if len(o) == 0 {
			continue
		}
		meta := o["metadata"].(map[string]any)
		delete(meta, "creationTimestamp")
		delete(o, "status")
		out[o["kind"].(string)+"/"+meta["name"].(string)] = o
	}
	return out
}
