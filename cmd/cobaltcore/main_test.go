package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// TestMain collects garbage less often, as the program does: the collector takes a sixth of the processor time of the tests.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// result is the JSON output, as documented in docs/cli.md.
type result struct {
	Instance string   `json:"instance"`
	Stages   int      `json:"stages"`
	Objects  []object `json:"objects"`
}

type object struct {
	Stage     int            `json:"stage"`
	Component string         `json:"component"`
	Kind      string         `json:"kind"`
	Name      string         `json:"name"`
	Manifest  map[string]any `json:"manifest"`
}

// shown runs the command on a claim, which must succeed, and returns its output.
func shown(t *testing.T, claim []byte, args ...string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(append([]string{"preview", "-f", "-"}, args...), bytes.NewReader(claim), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if !isWarningOnly(errOut.String()) {
		t.Errorf("standard error: %s", errOut.String())
	}
	return out.Bytes()
}

func shownJSON(t *testing.T, claim []byte, args ...string) result {
	t.Helper()
	r := result{}
	if err := json.Unmarshal(shown(t, claim, append(args, "--format", "json")...), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// isWarningOnly reports whether standard error is empty or contains only the note about a missing PlatformConfig.
func isWarningOnly(s string) bool {
	return s == "" || strings.HasPrefix(s, "note: no PlatformConfig given") && strings.Count(s, "\n") == 1
}

// controlPlanes are all example claims that can be previewed, by file name.
func controlPlanes(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := fs.Glob(examples.Files, "controlplane/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[filepath.Base(f)], err = examples.Files.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// full is an output device on which no space is left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestExitCodeMatchesKindOfError(t *testing.T) {
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason     string
		args       []string
		in         string
		out        io.Writer
		code       int
		wantOutput string
	}{
		"default":        {reason: "There is an example to look at.", args: []string{"preview"}},
		"help":           {reason: "Help is no mistake.", args: []string{"--help"}},
		"help of it":     {reason: "Help is no mistake.", args: []string{"preview", "--help"}},
		"nothing":        {reason: "A command has to be named.", code: exitUsage, wantOutput: "cobaltcore --help"},
		"command":        {reason: "A command that there is not.", args: []string{"apply"}, code: exitUsage, wantOutput: "apply"},
		"flag":           {reason: "A flag that there is not.", args: []string{"preview", "--force"}, code: exitUsage, wantOutput: "--force"},
		"format":         {reason: "A format that there is not.", args: []string{"preview", "--format", "xml"}, code: exitUsage, wantOutput: "xml"},
		"stage text":     {reason: "A stage is a number.", args: []string{"preview", "--stage", "x"}, code: exitUsage, wantOutput: "--stage"},
		"stage negative": {reason: "Stages start at one.", args: []string{"preview", "--stage=-1"}, code: exitUsage, wantOutput: "--stage"},
		"no file":        {reason: "The file is named wrongly.", args: []string{"preview", "-f", "no-such.yaml"}, code: exitUsage, wantOutput: "no-such.yaml"},
		"folder":         {reason: "A folder is no claim.", args: []string{"preview", "-f", used}, code: exitUsage, wantOutput: used},
		"no platform":    {reason: "The file is named wrongly.", args: []string{"preview", "-e", "no-such.yaml"}, code: exitUsage, wantOutput: "no-such.yaml"},
		"empty claim":    {reason: "Standard input holds nothing.", args: []string{"preview", "-f", "-"}, code: exitInvalid, wantOutput: "the claim: the file is empty"},
		"bad platform": {
			reason: "The PlatformConfig is refused by its own schema.", args: []string{"preview", "-e", "-"},
			in:   "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: PlatformConfig, metadata: {name: default}, spec: {}}",
			code: exitInvalid, wantOutput: "PlatformConfig default: spec.domain: Required value",
		},
		"other platform": {
			reason: "Compositions require the PlatformConfig with the name default.", args: []string{"preview", "-e", "-"},
			in:   "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: PlatformConfig, metadata: {name: other}, spec: {domain: example.com}}",
			code: exitInvalid, wantOutput: "PlatformConfig other: metadata.name: ",
		},
		"claim as platform": {
			reason: "The files are mixed up.", args: []string{"preview", "-e", "-"}, in: string(examples.Claim),
			code: exitInvalid, wantOutput: "the PlatformConfig: kind: ",
		},
		"foreign folder": {
			reason: "Files of others are not changed.", args: []string{"preview", "-o", used},
			code: exitFailed, wantOutput: used + " contains files",
		},
		"file as folder": {
			reason: "A file is no folder.", args: []string{"preview", "-o", filepath.Join(used, "mine.txt")},
			code: exitFailed, wantOutput: "mine.txt",
		},
		"version":        {reason: "Bug reports contain it.", args: []string{"version"}},
		"help word":      {reason: "Many commands have it.", args: []string{"help"}},
		"stage too high": {reason: "There are fewer.", args: []string{"preview", "--stage=99"}, code: exitUsage, wantOutput: "--stage 99: there are"},
		"several with stage": {
			reason: "Stages are counted for each claim.",
			args:   []string{"preview", "-f", complete + "control-plane.yaml", "-f", complete + "storage.yaml", "--stage", "1"},
			code:   exitUsage, wantOutput: "-f has 2 claims",
		},
		"explain":         {reason: "The field has a description.", args: []string{"explain", "spec.size"}},
		"explain alert":   {reason: "The alert has a runbook.", args: []string{"explain", "KeystoneDown"}},
		"explain unknown": {reason: "There is no such field.", args: []string{"explain", "spec.siz"}, code: exitUsage, wantOutput: "did you mean size?"},
		"version flag":    {reason: "Many commands have it.", args: []string{"--version"}},
		"empty variable":  {reason: `-f "$UNSET" is not the example.`, args: []string{"preview", "-f", ""}, code: exitUsage, wantOutput: "-f names no file"},
		"empty platform":  {reason: "Nor is -e.", args: []string{"preview", "-e", ""}, code: exitUsage, wantOutput: "-e names no file"},
		"two claims": {
			reason: "None of them is ignored silently.", args: []string{"preview", "-e", "a.yaml", "-e", "b.yaml"},
			code: exitUsage, wantOutput: "-e is given 2 times",
		},
		"stdin twice": {reason: "It can be read once.", args: []string{"preview", "-f", "-", "-e", "-"}, code: exitUsage, wantOutput: "standard input"},
		"out is format": {
			reason: "kubectl's -o is a format.", args: []string{"preview", "-f", "../../examples/controlplane/claim.yaml", "-o", "json"},
		},
		"full disk": {reason: "Incomplete output is a failure.", args: []string{"preview"}, out: full{}, code: exitFailed, wantOutput: "no space left"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if tc.out == nil {
				tc.out = &out
			}
			if code := run(tc.args, strings.NewReader(tc.in), tc.out, &errOut); code != tc.code {
				t.Errorf("%s\nexit code %d, want %d: %s", tc.reason, code, tc.code, errOut.String())
			}
			if tc.code != 0 && out.Len() > 0 {
				t.Errorf("%s\nstandard output: %.200s", tc.reason, out.String())
			}
			if tc.code == 0 && (out.Len() == 0 || !isWarningOnly(errOut.String())) {
				t.Errorf("%s\n%d bytes of output, and on standard error: %s", tc.reason, out.Len(), errOut.String())
			}
			requested := errOut.String()
			if i := strings.Index(requested, "\n"); i >= 0 && isWarningOnly(requested[:i+1]) {
				requested = requested[i+1:]
			}
			if !strings.Contains(requested, tc.wantOutput) || strings.Count(requested, "\n") > 1 {
				t.Errorf("%s\nstandard error: %s\nwant one line with: %s", tc.reason, errOut.String(), tc.wantOutput)
			}
		})
	}
	if remaining := files(t, used); len(remaining) != 1 {
		t.Errorf("files in a folder that is not ours: %v", slices.Sorted(maps.Keys(remaining)))
	}
}

// TestStandardInputEqualsFileAndDefault: - is the same as the file, and so is the default.
func TestStandardInputEqualsFileAndDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claim.yaml")
	if err := os.WriteFile(file, examples.Claim, 0o600); err != nil {
		t.Fatal(err)
	}
	want := string(shown(t, examples.Claim))
	for _, args := range [][]string{{"preview"}, {"preview", "-f", file}} {
		var out bytes.Buffer
		if code := run(args, strings.NewReader("not read"), &out, io.Discard); code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%v (-stdin +got):\n%s", args, diff)
		}
	}
}

// TestOutputFolderContainsLatestPreview: a folder holds one file for each object, and the next preview replaces them, but nothing else.
func TestOutputFolderContainsLatestPreview(t *testing.T) {
	claims := controlPlanes(t)
	dir := filepath.Join(t.TempDir(), "new", "out")
	r := shownJSON(t, claims["full.yaml"], "-o", dir)
	got := files(t, dir)
	delete(got, ".cobaltcore-preview")
	if len(got) != len(r.Objects) {
		t.Errorf("%d files for %d objects", len(got), len(r.Objects))
	}
	for path, data := range got {
		i := slices.IndexFunc(r.Objects, func(o object) bool {
			return strings.HasSuffix(path, o.Component+"/"+strings.ToLower(o.Kind)+"-"+o.Name+".yaml")
		})
		if i < 0 {
			t.Errorf("%s belongs to no object", path)
			continue
		}
		read := map[string]any{}
		if err := yaml.UnmarshalStrict(data, &read); err != nil {
			t.Errorf("cannot read %s: %v", path, err)
		}
		if diff := cmp.Diff(r.Objects[i].Manifest, read); diff != "" {
			t.Errorf("%s (-json +file):\n%s", path, diff)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = shownJSON(t, claims["development.yaml"], "-o", dir)
	got = files(t, dir)
	if string(got["notes.txt"]) != "mine" {
		t.Errorf("a file that is not ours was changed: %q", got["notes.txt"])
	}
	if want := len(r.Objects) + 2; len(got) != want {
		t.Errorf("%d files after the second preview, want %d: the first one's have to go", len(got), want)
	}

	before := files(t, dir)
	if code := run([]string{"preview", "-f", "-", "-o", dir}, strings.NewReader("{}"), io.Discard, io.Discard); code != exitInvalid {
		t.Errorf("exit code %d, want %d", code, exitInvalid)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("a claim that is refused changes files (-before +after):\n%s", diff)
	}
}

// files returns the contents of the files below a folder.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestStageIncludesObjectsOfEarlierStages checks that a stage shows the objects of all stages up to it, in every format, and in the folder.
func TestStageIncludesObjectsOfEarlierStages(t *testing.T) {
	all := shownJSON(t, examples.Claim)
	for n := 1; n <= all.Stages; n += effort.Of(5, 1) {
		stage := fmt.Sprintf("--stage=%d", n)
		dir := t.TempDir()
		got := shownJSON(t, examples.Claim, stage, "-o", dir)
		var want []object
		for _, o := range all.Objects {
			if o.Stage <= n {
				want = append(want, o)
			}
		}
		if diff := cmp.Diff(want, got.Objects); diff != "" {
			t.Errorf("stage %d (-want +got):\n%s", n, diff)
		}
		if want := min(n, all.Stages); got.Stages != want {
			t.Errorf("stage %d: %d stages, want %d", n, got.Stages, want)
		}
		if written := len(files(t, dir)) - 1; written != len(want) {
			t.Errorf("stage %d: %d files for %d objects", n, written, len(want))
		}
	}
	if first := shownJSON(t, examples.Claim, "--stage=1").Objects; len(first) != 1 || first[0].Kind != "Namespace" {
		t.Errorf("the first stage is not the namespace alone: %v", first)
	}
}

// TestMultipleClaimsResolveReferences checks that a claim is previewed together with its referenced claims, in any order; a missing claim
// is an error.
func TestMultipleClaimsResolveReferences(t *testing.T) {
	const plane, pool = "../../examples/hypervisor/control-plane.yaml", "../../examples/hypervisor/claim.yaml"
	var out, errOut bytes.Buffer
	if code := run([]string{"preview", "-f", plane, "-f", pool}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	for _, want := range []string{
		"ControlPlaneCluster tenant-a/production → namespace tenant-a-production-", "HypervisorCluster tenant-a/hypervisors → namespace tenant-a-hypervisors-",
		"DaemonSet nova-compute nova-compute-slice-pinned", "needs Secret nova-cell1-queue with keys password, username in namespace tenant-a-production-",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(out.String(), "needs Secret tenant-a-hypervisors") {
		t.Error("a Secret that a certificate creates is reported as missing")
	}
	first := out.String()
	out.Reset()
	if code := run([]string{"preview", "-f", pool, "-f", plane}, strings.NewReader(""), &out, &errOut); code != 0 || out.String() != first {
		t.Errorf("the other way round: exit code %d, the same: %t; %s", code, out.String() == first, errOut.String())
	}
	errOut.Reset()
	if code := run([]string{"preview", "-f", pool, "-f", "../../examples/storage/development.yaml"}, strings.NewReader(""), &out, &errOut); code != exitInvalid {
		t.Errorf("exit code %d", code)
	}
	if want := pool + ":"; !strings.Contains(errOut.String(), want) || !strings.Contains(errOut.String(), "spec.controlPlaneRef: there is no ControlPlaneCluster") {
		t.Errorf("unexpected message: %s", errOut.String())
	}
}

// TestMultipleClaimsStorage checks the preview of pools of a StorageCluster together with a control plane and its hypervisors, in any
// order.
func TestMultipleClaimsStorage(t *testing.T) {
	const folder = "../../examples/storage/"
	var out, errOut bytes.Buffer
	args := []string{"preview", "-f", folder + "hypervisors.yaml", "-f", folder + "control-plane.yaml", "-f", folder + "claim.yaml"}
	if code := run(args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	for _, want := range []string{
		"StorageCluster tenant-a/storage → namespace tenant-a-storage-", "ControlPlaneCluster tenant-a/production → namespace tenant-a-production-",
		"needs Secret rook-ceph-client-production-glance with key userKey in namespace tenant-a-storage-",
		"needs Secret rook-ceph-client-production-nova with key userKey in namespace tenant-a-storage-",
		"HypervisorCluster tenant-a/hypervisors → namespace tenant-a-hypervisors-",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// TestMultipleClaimsComplete checks the preview of all claims of a complete cloud, on the example's platform.
func TestMultipleClaimsComplete(t *testing.T) {
	const folder = "../../examples/complete/"
	var out, errOut bytes.Buffer
	args := []string{"preview", "-f", folder + "storage.yaml", "-f", folder + "control-plane.yaml", "-f", folder + "hypervisors.yaml"}
	if code := run(args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	for _, want := range []string{
		"needs Secret rook-ceph-client-glance with key userKey", "needs Secret rook-ceph-client-cinder with key userKey",
		"needs Secret rook-ceph-client-nova with key userKey", "Deployment heat-engine", "Deployment horizon", "DaemonSet nova-compute",
		"\n  OpenStack 2025.2\n", " pods request ", " pods on each hypervisor\n", "  https://horizon.complete.tenant-a.example.com\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
}
