package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

const complete = "../../examples/complete/"

// content returns files of the complete example, each as a document of one file.
func content(t *testing.T, files ...string) string {
	t.Helper()
	var out strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(complete + f)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(b))
	}
	return out.String()
}

// TestInputsAreEquivalent checks that a cloud is the same from files, a folder, and one stream of documents, in any order.
func TestInputsAreEquivalent(t *testing.T) {
	var want bytes.Buffer
	args := []string{"preview", "-f", complete + "storage.yaml", "-f", complete + "control-plane.yaml", "-f", complete + "hypervisors.yaml"}
	if code := run(args, strings.NewReader(""), &want, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for name, tc := range map[string]struct {
		reason, path, in, note string
	}{
		"Folder": {"The folder also has a template of Heat.", complete, "", "stack.yaml has no object of Kubernetes and is ignored"},
		"Stream": {"A program writes all claims.", "-", content(t, "hypervisors.yaml", "control-plane.yaml", "storage.yaml"), ""},
		"Others": {
			"The input also contains Secrets.", "-",
			content(t, "hypervisors.yaml", "storage.yaml", "control-plane.yaml") + "---\n{apiVersion: v1, kind: Secret, metadata: {name: s}}\n",
			"standard input: Secret s is not a claim and is ignored",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "Stream" && !effort.Long() {
				t.Skip("the case Others has the claims of this stream, and more: make test-long has both")
			}
			var out, errOut bytes.Buffer
			if code := run([]string{"preview", "-f", tc.path}, strings.NewReader(tc.in), &out, &errOut); code != 0 {
				t.Fatalf("%s\nexit code %d: %s", tc.reason, code, errOut.String())
			}
			if diff := cmp.Diff(want.String(), out.String()); diff != "" {
				t.Errorf("%s\n-files, +got:\n%s", tc.reason, diff)
			}
			if !strings.Contains(errOut.String(), tc.note) {
				t.Errorf("%s\nstandard error: %s\nwant: %s", tc.reason, errOut.String(), tc.note)
			}
		})
	}
}

// TestInputWithoutClaims checks that an input in which nothing can be checked is a usage error.
func TestInputWithoutClaims(t *testing.T) {
	const secrets = "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n"
	var out, errOut bytes.Buffer
	if code := run([]string{"validate", "-f", "-"}, strings.NewReader(secrets), &out, &errOut); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	if want := "the input contains no claim; use one of the kinds StorageCluster"; !strings.Contains(errOut.String(), want) {
		t.Errorf("standard error %s, want %s", errOut.String(), want)
	}
}

// TestPlatformAmongClaims checks that the PlatformConfig of a folder is used, and that a second one is rejected.
func TestPlatformAmongClaims(t *testing.T) {
	platform := "---\n{apiVersion: crossplane.c5c3.io/v1alpha1, kind: PlatformConfig, metadata: {name: default}, spec: {}}\n"
	var out, errOut bytes.Buffer
	if code := run([]string{"validate", "-f", "-"}, strings.NewReader(content(t, "storage.yaml")+platform), &out, &errOut); code != exitInvalid {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	if want := "PlatformConfig default: spec.domain: Required value"; !strings.Contains(out.String(), want) {
		t.Errorf("output %s, want %s", out.String(), want)
	}
	in := content(t, "storage.yaml") + platform + platform
	if code := run([]string{"validate", "-f", "-"}, strings.NewReader(in), &out, &errOut); code != exitUsage {
		t.Errorf("two PlatformConfigs: exit code %d: %s", code, errOut.String())
	}
}

// broken is a cloud whose control plane has a misspelled field. The pool of hypervisors refers to it.
func broken(t *testing.T) string {
	t.Helper()
	in := content(t, "storage.yaml", "control-plane.yaml", "hypervisors.yaml")
	in = strings.Replace(in, "openStackRelease:", "openStackReleas: x\n  openStackRelease:", 1)
	return in
}

// TestValidateReportsAllErrors checks that an error in a claim hides no others, and causes none in claims that refer to it.
func TestValidateReportsAllErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cloud.yaml")
	if err := os.WriteFile(file, []byte(broken(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(broken(t), "openStackReleas:")
	line := 1 + strings.Count(before, "\n")
	var out, errOut bytes.Buffer
	if code := run([]string{"validate", "-f", dir, "--format", "json"}, strings.NewReader(""), &out, &errOut); code != exitInvalid {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	type reported struct {
		File    string `json:"file"`
		Input   string `json:"input"`
		Field   string `json:"field"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
		Line    int    `json:"line"`
	}
	var got struct {
		Refused []reported `json:"refused"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []reported{
		{
			File: file, Input: "ControlPlaneCluster complete", Field: "spec.openStackReleas", Line: line,
			Message: "spec.openStackReleas: Forbidden: unknown field", Hint: "did you mean openStackRelease?",
		},
		{File: file, Input: "HypervisorCluster hypervisors", Message: "not checked, because ControlPlaneCluster complete, to which it refers, " +
			"is invalid; correct that claim first"},
	}
	if diff := cmp.Diff(want, got.Refused); diff != "" {
		t.Errorf("validate: -want, +got:\n%s", diff)
	}
	if want := "3 claims, 2 errors\n"; !strings.HasSuffix(errOut.String(), want) {
		t.Errorf("standard error %s, want %s", errOut.String(), want)
	}
}

// TestFormatsOfValidate checks the formats of other programs: an error with its file and line, and a valid claim.
func TestFormatsOfValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, in string
		code       int
		want       []string
	}{
		"text":   {"Compilers print such lines.", broken(t), exitInvalid, []string{"ControlPlaneCluster complete: spec.openStackReleas: "}},
		"github": {"GitHub shows it at the line.", broken(t), exitInvalid, []string{"::error title=ControlPlaneCluster complete,line="}},
		"sarif":  {"Code scanning reads it.", broken(t), exitInvalid, []string{`"version": "2.1.0"`, `"ruleId": "invalid-claim"`}},
		"junit": {"A valid claim is a passed test.", broken(t), exitInvalid, []string{
			`tests="3" failures="2"`, `<testcase name="StorageCluster storage" classname="standard input"></testcase>`,
		}},
		"json": {"All claims are valid.", content(t, "storage.yaml"), 0, []string{`"refused": []`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run([]string{"validate", "-f", "-", "--format", name}, strings.NewReader(tc.in), &out, &errOut); code != tc.code {
				t.Fatalf("%s\nexit code %d: %s", tc.reason, code, errOut.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s\noutput: %s\nwant: %s", tc.reason, out.String(), want)
				}
			}
			var v any
			switch name {
			case "sarif", "json":
				if err := json.Unmarshal(out.Bytes(), &v); err != nil {
					t.Error(err)
				}
			case "junit":
				if err := xml.Unmarshal(out.Bytes(), &struct {
					XMLName xml.Name `xml:"testsuites"`
				}{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestPrintsMultipleClaimsAsJSON checks that a whole cloud has one JSON document.
func TestPrintsMultipleClaimsAsJSON(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"preview", "-f", "-", "--format", "json"}
	if code := run(args, strings.NewReader(content(t, "control-plane.yaml", "storage.yaml")), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var got struct {
		Claims []struct {
			Claim struct {
				Kind string `json:"kind"`
			} `json:"claim"`
			Objects []json.RawMessage `json:"objects"`
		} `json:"claims"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Claims) != 2 {
		t.Fatalf("%d claims, %v", len(got.Claims), err)
	}
	if got.Claims[0].Claim.Kind != "StorageCluster" || len(got.Claims[1].Objects) == 0 {
		t.Errorf("the first claim is a %s, and the second has %d objects", got.Claims[0].Claim.Kind, len(got.Claims[1].Objects))
	}
}

// TestListsAllImagesForMirror checks that a mirror gets all images of pods, of operators' objects and of other clusters.
func TestListsAllImagesForMirror(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"images", "-f", "-", "--format", "json"}
	in := content(t, "control-plane.yaml", "storage.yaml", "hypervisors.yaml")
	if code := run(args, strings.NewReader(in), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var images []jsonImage
	if err := json.Unmarshal(out.Bytes(), &images); err != nil {
		t.Fatal(err)
	}
	users := map[string]bool{}
	for _, image := range images {
		for _, user := range image.Users {
			kind, _, _ := strings.Cut(user, " ")
			users[kind] = true
		}
	}
	for _, kind := range []string{"Deployment", "DaemonSet", "StatefulSet", "CronJob", "MariaDB", "RabbitmqCluster", "CephCluster", "DatabaseSync"} {
		if !users[kind] {
			t.Errorf("no image of a %s is listed", kind)
		}
	}
	out.Reset()
	if code := run([]string{"images", "-f", "-"}, strings.NewReader(in), &out, &errOut); code != 0 || strings.Count(out.String(), "\n") != len(images) {
		t.Errorf("exit code %d, %d lines for %d images", code, strings.Count(out.String(), "\n"), len(images))
	}
}
