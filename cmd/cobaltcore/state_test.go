package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// TestPlanOfState checks that a plan does not depend on whether the cloud was composed by this process or read from a state.
func TestPlanOfState(t *testing.T) {
	var state bytes.Buffer
	if err := completeCloud(t).Save(&state); err != nil {
		t.Fatal(err)
	}
	loaded, err := plan.Load(&state, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	edits := append([]planEdit{{Name: "nothing", Reason: "the functions are the same"}}, effort.Sample(planEdits(t), 8)...)
	for _, e := range edits {
		if e.Refused != "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			want := printedPlan(t, e, "json")
			p, err := loaded.Plan(completeInput(t, e))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := p.Print(&got, "json", false); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got.String()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", e.Reason, diff)
			}
		})
	}
}

// otherVersion is a function that composes as if the spec of the composite resource had other values, like another version of it.
type otherVersion struct {
	function.Runner

	patch map[string]any
}

// Explain handles a request.
func (o otherVersion) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	xr, err := structpb.NewStruct(patched(req.Composite.AsMap(), map[string]any{"spec": o.patch}).(map[string]any))
	if err != nil {
		return nil, compose.Plan{}, err
	}
	other := *req
	other.Composite = xr
	return o.Runner.Explain(&other)
}

// TestPlanOfUpgrade checks that the plan of an upgrade of the functions has the objects of claims and of nested composite resources that
// change although no spec changes.
func TestPlanOfUpgrade(t *testing.T) {
	replicas := map[string]any{"replicas": 3.0}
	runners := kinds.Runners()
	for kind, patch := range map[string]map[string]any{
		"Nova.nova.openstack.c5c3.io":             {"scheduler": replicas},
		"XControlPlaneCluster.crossplane.c5c3.io": {"infrastructure": map[string]any{"memcached": replicas}},
	} {
		if runners[kind] == nil {
			t.Fatalf("no function composes %s", kind)
		}
		runners[kind] = otherVersion{runners[kind], patch}
	}
	old, err := plan.Compose(completeInput(t, planEdit{}), runners)
	if err != nil {
		t.Fatal(err)
	}
	var state, out bytes.Buffer
	if err := old.Save(&state); err != nil {
		t.Fatal(err)
	}
	cloud, err := plan.Load(&state, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	p, err := cloud.Plan(completeInput(t, planEdit{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Print(&out, "text", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"~ StatefulSet nova-scheduler", "~ StatefulSet memcached", "spec.replicas: 3 → "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan has no %q:\n%s", want, out.String())
		}
	}
}

// TestPlanOfAnotherVersion checks plan --function-version with programs of other versions.
func TestPlanOfAnotherVersion(t *testing.T) {
	edited, err := plan.Compose(storageInput(t, map[string]any{"spec": map[string]any{"pools": []any{map[string]any{"name": "vms"}}}}), kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := edited.Save(&state); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, "state.json"), state.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"cobaltcore-v0.1.0":   "cat >input; cat state.json",
		"cobaltcore-rejects":  "echo spec.size: is unknown >&2; exit 1",
		"cobaltcore-old":      "echo unexpected argument state >&2; exit 2",
		"cobaltcore-fails":    "echo no space left on device >&2; exit 3",
		"cobaltcore-future":   `echo '{"format": 99}'`,
		"cobaltcore-malforms": `echo '{"format": 1, "claims": [{}]}'`,
	} {
		file := "#!/bin/sh\ncd " + dir + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		version string
		code    int
		out     string
		errOut  string
		reason  string
	}{
		"Upgrade":  {"v0.1.0", exitChanged, "CephBlockPool", "", "the other version composes other objects"},
		"File":     {dir + "/cobaltcore-v0.1.0", exitChanged, "CephBlockPool", "", "a path names the program"},
		"Missing":  {"v9", exitUsage, "", "found no program cobaltcore-v9", "nothing was downloaded"},
		"Rejected": {"rejects", exitInvalid, "", "rejects the existing claims: spec.size: is unknown", "the claims do not run there"},
		"Old":      {"old", exitUsage, "", "has no command state", "the command is new"},
		"Failed":   {"fails", exitFailed, "", "failed: no space left on device", "the program failed"},
		"Future":   {"future", exitFailed, "", "has format 99, this version reads format 1", "formats change"},
		"Empty":    {"malforms", exitFailed, "", "a claim has no cluster", "the state is incomplete"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			args := []string{"plan", "--current", complete + "storage.yaml", "--function-version", tc.version}
			code, _ := execute(args, strings.NewReader(""), &out, &errOut)
			if tc.out != "" {
				code = run(append(args, "--detailed-exitcode"), strings.NewReader(""), &out, &errOut)
			}
			if code != tc.code || !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
				t.Errorf("%s: got code %d, want %d, with %q and %q:\n%s\n%s",
					tc.reason, code, tc.code, tc.out, tc.errOut, out.String(), errOut.String())
			}
		})
	}
	input, err := os.ReadFile(filepath.Join(dir, "input"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"kind: PlatformConfig", "kind: StorageCluster"} {
		if !strings.Contains(string(input), kind) {
			t.Errorf("the other program got no %s", kind)
		}
	}
}

// storageInput returns the StorageCluster of the complete example after a patch.
func storageInput(t *testing.T, patch map[string]any) plan.Input {
	t.Helper()
	in := completeInput(t, planEdit{Claim: "storage.yaml", Patch: patch})
	in.Claims = slices.DeleteFunc(in.Claims, func(d plan.Document) bool { return d.File != "storage.yaml" })
	return in
}
