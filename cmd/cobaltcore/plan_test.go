package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

var updatePlans = flag.Bool("update-plans", false, "write the golden files of plans")

// completeFiles are the claims of the complete example in the order of their references.
var completeFiles = []string{"storage.yaml", "control-plane.yaml", "hypervisors.yaml"}

// planEdit is a row of testdata/plan/edits.yaml.
type planEdit struct {
	Name, Claim, Reason, Evidence, Refused string

	Patch    map[string]any
	Remove   bool
	Verdicts map[string]plan.Level
}

func planEdits(t testing.TB) []planEdit {
	t.Helper()
	data, err := os.ReadFile("testdata/plan/edits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []planEdit
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// completeInput returns the complete example after an edit. The zero edit changes nothing.
func completeInput(t testing.TB, e planEdit) plan.Input {
	t.Helper()
	out := plan.Input{Platform: plan.Document{Data: examples.Platform}}
	for _, file := range completeFiles {
		data, err := os.ReadFile(complete + file)
		if err != nil {
			t.Fatal(err)
		}
		if file == e.Claim && e.Remove {
			continue
		}
		if file == e.Claim {
			claim := map[string]any{}
			if err := yaml.Unmarshal(data, &claim); err != nil {
				t.Fatal(err)
			}
			if data, err = yaml.Marshal(patched(claim, e.Patch)); err != nil {
				t.Fatal(err)
			}
		}
		out.Claims = append(out.Claims, plan.Document{Identity: preview.IdentityOf(data), File: file, Data: data})
	}
	return out
}

// patched applies a JSON merge patch (https://www.rfc-editor.org/rfc/rfc7386).
func patched(object, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, _ := object.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range changes {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = patched(out[k], v)
		}
	}
	return out
}

// cachedCloud is composed once for all tests, because plans do not change it.
var cachedCloud *plan.Cloud

// completeCloud returns the complete example as a running cloud.
func completeCloud(t testing.TB) *plan.Cloud {
	t.Helper()
	if cachedCloud == nil {
		cloud, err := plan.Compose(completeInput(t, planEdit{}), kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		cachedCloud = cloud
	}
	return cachedCloud
}

// printedPlan returns the plan of an edit of the complete example in a format.
func printedPlan(t testing.TB, e planEdit, format string) string {
	t.Helper()
	p, err := completeCloud(t).Plan(completeInput(t, e))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := p.Print(&out, format, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPlanReportsImpactOfEachEdit checks the verdict of each edit of the table, and that a measured edit has a heading in the evidence.
func TestPlanReportsImpactOfEachEdit(t *testing.T) {
	cloud := completeCloud(t)
	evidence, err := os.ReadFile("../../docs/reference/test-evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effort.Sample(planEdits(t), 3) {
		t.Run(e.Name, func(t *testing.T) {
			if e.Evidence != "" && !strings.Contains(string(evidence), "# "+e.Evidence+"\n") {
				t.Errorf("test-evidence.md has no heading %q", e.Evidence)
			}
			p, err := cloud.Plan(completeInput(t, e))
			if e.Refused != "" {
				if errs := validationErrors(err); len(errs) == 0 || !strings.Contains(err.Error(), e.Refused) {
					t.Errorf("%s: want an error with %q, got %v", e.Reason, e.Refused, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !p.Changed() {
				t.Errorf("%s: the plan has no changes", e.Reason)
			}
			got := map[string]plan.Level{}
			for _, v := range p.Verdicts {
				if v.Level != plan.NoInterruption {
					got[v.Subject] = v.Level
				}
			}
			want := e.Verdicts
			if want == nil {
				want = map[string]plan.Level{}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				var out strings.Builder
				if err := p.Print(&out, "text", false); err != nil {
					t.Fatal(err)
				}
				t.Errorf("%s: -want, +got:\n%s\n%s", e.Reason, diff, out.String())
			}
		})
	}
}

// TestPlanOfEqualClaimsIsEmpty checks that equal claims give no change, whatever their formatting, and also as dumped from a cluster.
func TestPlanOfEqualClaimsIsEmpty(t *testing.T) {
	cloud := completeCloud(t)
	cases := map[string]func(claim map[string]any) map[string]any{
		"the same file": func(claim map[string]any) map[string]any { return claim },
		"a live object": func(claim map[string]any) map[string]any {
			meta, _ := claim["metadata"].(map[string]any)
			meta["uid"], meta["resourceVersion"], meta["generation"] = "0a", "12", 3
			meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
			meta["finalizers"] = []any{"finalizer.apiextensions.crossplane.io"}
			meta["managedFields"] = []any{map[string]any{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}}
			spec, _ := claim["spec"].(map[string]any)
			spec["compositeDeletePolicy"] = "Background"
			spec["resourceRef"] = map[string]any{"apiVersion": claim["apiVersion"], "kind": "X", "name": "x"}
			claim["status"] = map[string]any{"phase": "Ready"}
			return claim
		},
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			in := completeInput(t, planEdit{})
			for i, d := range in.Claims {
				claim := map[string]any{}
				if err := yaml.Unmarshal(d.Data, &claim); err != nil {
					t.Fatal(err)
				}
				data, err := yaml.Marshal(edit(claim))
				if err != nil {
					t.Fatal(err)
				}
				in.Claims[i].Data = data
			}
			p, err := cloud.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if p.Changed() {
				var out strings.Builder
				if err := p.Print(&out, "text", false); err != nil {
					t.Fatal(err)
				}
				t.Errorf("equal claims have changes:\n%s", out.String())
			}
		})
	}
}

// TestPlanComparesWithKubectlDump checks that a dump of kubectl is the state before the edit, in each form that kubectl writes, and that
// the fields of API servers and Crossplane are no differences: on either side.
func TestPlanComparesWithKubectlDump(t *testing.T) {
	claim := string(completeInput(t, planEdit{}).Claims[0].Data)
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(claim), &object); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"uid", "resourceVersion", "selfLink"} {
		object["metadata"].(map[string]any)[field] = "0a"
	}
	live := patched(object, map[string]any{
		"metadata": map[string]any{
			"generation": 3.0, "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"finalizer.apiextensions.crossplane.io"},
			"annotations":   map[string]any{"kubectl.kubernetes.io/last-applied-configuration": claim},
			"managedFields": []any{map[string]any{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}},
		},
		"spec": map[string]any{
			"compositeDeletePolicy": "Background", "compositionUpdatePolicy": "Automatic", "compositionRef": map[string]any{"name": "storage"},
			"compositionRevisionRef": map[string]any{"name": "storage-1"},
			"resourceRef":            map[string]any{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "XStorageCluster", "name": "x"},
		},
		"status": map[string]any{"phase": "Ready", "lastValidSpec": map[string]any{}, "conditions": []any{}},
	})
	list := func(kind string, items ...any) any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "items": items}
	}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"k": "c2VjcmV0"}}
	cases := map[string]struct {
		reason string
		dump   any
		json   bool
	}{
		"Object":    {"kubectl get storagecluster x -o yaml", live, false},
		"List":      {"kubectl get storageclusters -o yaml", list("List", live), false},
		"TypedList": {"kubectl get --raw", list("StorageClusterList", live), true},
		"Mixed":     {"kubectl get storageclusters,secrets -o json", list("List", secret, live), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			marshal := yaml.Marshal
			if tc.json {
				marshal = json.Marshal
			}
			data, err := marshal(tc.dump)
			if err != nil {
				t.Fatal(err)
			}
			dump := filepath.Join(t.TempDir(), "dump.yaml")
			if err := os.WriteFile(dump, data, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"--current", dump, "-f", complete + "storage.yaml"}, {"--current", complete + "storage.yaml", "-f", dump}} {
				var out, errOut bytes.Buffer
				code := run(append([]string{"plan", "--detailed-exitcode"}, args...), strings.NewReader(""), &out, &errOut)
				if code != 0 || !strings.HasPrefix(out.String(), "No changes.") {
					t.Errorf("%s: exit code %d:\n%s%s", tc.reason, code, &out, &errOut)
				}
				if strings.Contains(out.String()+errOut.String(), "c2VjcmV0") {
					t.Errorf("%s: the output has the value of a Secret", tc.reason)
				}
			}
		})
	}
}

// TestPlanManyClaims checks that several claims have a plan each, in the order of their references, with a summary of all; and that an
// error in one claim is an error of the whole plan.
func TestPlanManyClaims(t *testing.T) {
	write := func(dir, name string, e planEdit) {
		for _, d := range completeInput(t, e).Claims {
			if d.File == "storage.yaml" {
				data := strings.ReplaceAll(string(d.Data), "storage-", "storage-"+name[:1]) // Claims have nodes of their own.
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	storage := func(name, memory string) planEdit {
		amounts := map[string]any{"memory": memory}
		return planEdit{Claim: "storage.yaml", Patch: map[string]any{
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"osds": map[string]any{"resources": map[string]any{"requests": amounts, "limits": amounts}}},
		}}
	}
	cases := map[string]struct {
		reason string
		b      planEdit
		code   int
		out    []string
		errOut string
	}{
		"BothChange":   {"both claims are planned", storage("b", "3Gi"), exitChanged, []string{"~ StorageCluster tenant-a/a", "~ StorageCluster tenant-a/b", "\nStorageCluster tenant-a/a: 0 to create", "\nStorageCluster tenant-a/b: 0 to create", "\nPlan: 0 to create"}, ""},
		"OneUnchanged": {"the worst exit code is of the changed claim", storage("b", "2Gi"), exitChanged, []string{"~ StorageCluster tenant-a/a", "  StorageCluster tenant-a/b\n  no changes"}, ""},
		"OneInvalid":   {"an error is worse than a change", storage("b", "many"), exitInvalid, nil, "b.yaml:"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := t.TempDir(), t.TempDir()
			write(before, "a.yaml", storage("a", "2Gi"))
			write(before, "b.yaml", storage("b", "2Gi"))
			write(after, "a.yaml", storage("a", "3Gi"))
			write(after, "b.yaml", tc.b)
			var out, errOut bytes.Buffer
			code := run([]string{"plan", "--current", before, "-f", after, "--detailed-exitcode"}, strings.NewReader(""), &out, &errOut)
			if code != tc.code || !strings.Contains(errOut.String(), tc.errOut) || tc.out == nil && out.Len() > 0 {
				t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", tc.reason, code, tc.code, tc.errOut, &out, &errOut)
			}
			at := 0
			for _, want := range tc.out {
				i := strings.Index(out.String()[at:], want)
				if i < 0 {
					t.Fatalf("%s: no %q in order:\n%s%s", tc.reason, want, &out, &errOut)
				}
				at += i
			}
		})
	}
}

// planned runs the command on the StorageCluster of the complete example, and an edit of it, in a temporary folder.
func planned(t testing.TB, e planEdit, args ...string) (code int, out, errOut string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range completeInput(t, e).Claims {
		if d.File != "storage.yaml" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, d.File), d.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args = append([]string{"plan", "--current", complete + "storage.yaml", "-f", dir}, args...)
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), strings.ReplaceAll(stderr.String(), dir, "DIR")
}

// TestPlanOutputMatchesGoldenFiles compares the output of one edit in each format with testdata/plan.
func TestPlanOutputMatchesGoldenFiles(t *testing.T) {
	edit := planEdit{Claim: "hypervisors.yaml", Patch: map[string]any{"spec": map[string]any{
		"maxUnavailable": "10%", "agents": map[string]any{"ovnController": map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "200m"}}}},
	}}}
	for _, format := range plan.Formats {
		t.Run(format, func(t *testing.T) {
			out := printedPlan(t, edit, format)
			file := "testdata/plan/output." + format
			if *updatePlans {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), out); diff != "" {
				t.Errorf("-want, +got; go test ./cmd/cobaltcore -run TestPlanOutputMatchesGoldenFiles -update-plans writes the file:\n%s", diff)
			}
		})
	}
}

// TestPlanExitCode checks the exit codes with and without --detailed-exitcode.
func TestPlanExitCode(t *testing.T) {
	pools := []any{map[string]any{"name": "images"}, map[string]any{"name": "volumes"}, map[string]any{"name": "vms"}, map[string]any{"name": "backups"}}
	change := planEdit{Claim: "storage.yaml", Patch: map[string]any{"spec": map[string]any{"pools": pools}}}
	invalid := planEdit{Claim: "storage.yaml", Patch: map[string]any{"spec": map[string]any{"deletionPolicy": "many"}}}
	cases := map[string]struct {
		reason        string
		edit          planEdit
		args          []string
		without, with int
	}{
		"no change":               {"both succeed", planEdit{}, nil, 0, 0},
		"change":                  {"only the flag reports it", change, nil, 0, 2},
		"invalid claim":           {"an error is 1", invalid, nil, 1, 1},
		"invalid command line":    {"2 means changes with the flag", change, []string{"--nonsense"}, 2, 1},
		"several PlatformConfigs": {"2 means changes with the flag", change, []string{"-e", "a", "-e", "b"}, 2, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if code, _, errOut := planned(t, tc.edit, tc.args...); code != tc.without {
				t.Errorf("%s: exit code %d, want %d: %s", tc.reason, code, tc.without, errOut)
			}
			if code, _, errOut := planned(t, tc.edit, append(tc.args, "--detailed-exitcode")...); code != tc.with {
				t.Errorf("%s: exit code %d, want %d: %s", tc.reason, code, tc.with, errOut)
			}
		})
	}
}

// TestPlanErrorContainsFileLineAndField checks that a refused edit has the file, the line and the field, as in validate.
func TestPlanErrorContainsFileLineAndField(t *testing.T) {
	_, _, errOut := planned(t, planEdit{Claim: "storage.yaml", Patch: map[string]any{"spec": map[string]any{"deletionPolicy": "many"}}})
	if !strings.Contains(errOut, "DIR/storage.yaml:") || !strings.Contains(errOut, "spec.deletionPolicy: ") {
		t.Errorf("want file, line and field: %s", errOut)
	}
}

// TestPlanHidesSecrets checks that no format shows values that can be secret: in options, passwords in addresses, and private keys.
func TestPlanHidesSecrets(t *testing.T) {
	const secret = "hunter2-do-not-show"
	edit := planEdit{Claim: "control-plane.yaml", Patch: map[string]any{"spec": map[string]any{"services": map[string]any{"keystone": map[string]any{
		"allowUnknown": true,
		"config": map[string]any{"custom": map[string]any{
			"my_password": secret, "address": "https://user:" + secret + "@example.com/", "api_token": secret, "shared_secret": secret,
		}},
	}}}}}
	for _, format := range plan.Formats {
		out := printedPlan(t, edit, format)
		if strings.Contains(out, secret) || !strings.Contains(out, plan.Hidden) {
			t.Errorf("%s: the output contains a secret, or hides none:\n%s", format, out)
		}
	}
}

// TestPlanJSONMatchesItsSchema checks that the JSON output has the fields of docs/reference/schema/plan.json, and no others.
func TestPlanJSONMatchesItsSchema(t *testing.T) {
	checkPlanSchema(t, printedPlan(t, planEdits(t)[0], "json"))
}

// checkPlanSchema checks the JSON output of a plan.
func checkPlanSchema(t *testing.T, out string) {
	t.Helper()
	schemaText, err := os.ReadFile("../../docs/reference/schema/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "", schema, schema, doc)
}

// checkSchema compares a document with the subset of JSON Schema that the file uses: $ref, properties, required, items and enum.
func checkSchema(t *testing.T, at string, root, schema map[string]any, doc any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		schema, _ = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch v := doc.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for k, e := range v {
			property, ok := properties[k].(map[string]any)
			if !ok {
				t.Errorf("%s.%s is not in the schema", at, k)
				continue
			}
			checkSchema(t, at+"."+k, root, property, e)
		}
		required, _ := schema["required"].([]any)
		for _, k := range required {
			if name, _ := k.(string); v[name] == nil {
				t.Errorf("%s has no %s", at, name)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, e := range v {
			checkSchema(t, at+"[]", root, items, e)
		}
	case string:
		if enum, ok := schema["enum"].([]any); ok && !contains(enum, v) {
			t.Errorf("%s: %q is not in %v", at, v, enum)
		}
		if cmp.Or(schema["type"], any("string")) != "string" {
			t.Errorf("%s is a string, and has type %v in the schema", at, schema["type"])
		}
	}
}

func contains(list []any, text string) bool {
	for _, e := range list {
		if e == text {
			return true
		}
	}
	return false
}

// BenchmarkPlanComplete plans an option of Keystone of the complete example, in one process. The time includes both sides.
func BenchmarkPlanComplete(b *testing.B) {
	tuneMemory()
	edit := planEdits(b)[0]
	before, after := completeInput(b, planEdit{}), completeInput(b, edit)
	for b.Loop() {
		if _, err := plan.Run(before, after, kinds.Runners()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPlanDeletionRetained checks that a deleted claim with Retain lists its data as retained, and one with Delete as at risk.
func TestPlanDeletionRetained(t *testing.T) {
	data, err := os.ReadFile(complete + "storage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[string]plan.Level{"Retain": plan.NoInterruption, "Delete": plan.DataAtRisk} {
		claim := map[string]any{}
		if err := yaml.Unmarshal(data, &claim); err != nil {
			t.Fatal(err)
		}
		doc, err := yaml.Marshal(patched(claim, map[string]any{"spec": map[string]any{"deletionPolicy": policy}}))
		if err != nil {
			t.Fatal(err)
		}
		platform := plan.Document{Data: examples.Platform}
		in := plan.Input{Platform: platform, Claims: []plan.Document{{Identity: preview.IdentityOf(doc), Data: doc}}}
		p, err := plan.Run(in, plan.Input{Platform: platform}, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Verdicts[0]; got.Subject != "storage" || got.Level != want {
			t.Errorf("deletionPolicy %s: %s is %s, want %s", policy, got.Subject, got.Level, want)
		}
	}
}
