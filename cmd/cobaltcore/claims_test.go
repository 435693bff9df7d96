package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

var update = flag.Bool("update", false, "write the golden files again")

// claims holds claims with one error each, and the expected messages.
const claims = "../../test/claims"

// sentence matches "<kind> <name>: <field>: <error>"; objects of other kinds have no field.
var sentence = regexp.MustCompile(`^(the claim: [^:]+|(the object|\S+( \S+)?): (object|apiVersion|kind|metadata|spec)[^ ]*: ).+`)

// TestInvalidClaimsAreRejected runs every claim of test/claims/testdata: each is rejected with the message in the .want file and exit code
// 1, and nothing else is written anywhere.
func TestInvalidClaimsAreRejected(t *testing.T) {
	files, err := filepath.Glob(claims + "/testdata/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("only %d claims: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			got := rejected(t, nil, "-f", file)
			wantFile := strings.TrimSuffix(file, ".yaml") + ".want"
			if *update {
				if err := os.WriteFile(wantFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wantFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			lines := 1
			if strings.HasPrefix(name, "two-") {
				lines = 2
			}
			checkSentences(t, got, lines)
		})
	}
}

// TestRejectsInvalidClaimAmongOthers runs the claims of each folder of test/claims/testdata together, in the order of their files: one of
// them is rejected with the message in the .want file and exit code 1.
func TestRejectsInvalidClaimAmongOthers(t *testing.T) {
	entries, err := os.ReadDir(claims + "/testdata")
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() })
	if len(entries) == 0 {
		t.Fatal("no folders")
	}
	for _, entry := range entries {
		folder := filepath.Join(claims, "testdata", entry.Name())
		t.Run(filepath.Base(folder), func(t *testing.T) {
			files, err := filepath.Glob(folder + "/*.yaml")
			if err != nil || len(files) < 2 {
				t.Fatalf("only %d claims: %v", len(files), err)
			}
			args := []string{"preview", "-e", claims + "/platformconfig.yaml"}
			for _, file := range files {
				args = append(args, "-f", file)
			}
			var out, errOut bytes.Buffer
			if code := run(args, strings.NewReader(""), &out, &errOut); code != exitInvalid {
				t.Errorf("exit code %d, want %d", code, exitInvalid)
			}
			lines := strings.Split(strings.TrimSuffix(errOut.String(), "\n"), "\n")
			for i, line := range lines {
				checkSentences(t, errorLocation.ReplaceAllString(line, "")+"\n", 1)
				lines[i] = strings.ReplaceAll(line, claims+"/testdata/", "")
			}
			got, wantFile := strings.Join(lines, "\n")+"\n", folder+".want"
			if *update {
				if err := os.WriteFile(wantFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wantFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRejectsInvalidPlatformConfig runs every PlatformConfig of test/claims/platforms with the example's claim: each is rejected with the
// message in the .want file and exit code 1.
func TestRejectsInvalidPlatformConfig(t *testing.T) {
	files, err := filepath.Glob(claims + "/platforms/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no PlatformConfigs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run([]string{"preview", "-e", file}, strings.NewReader(""), &out, &errOut); code != exitInvalid {
				t.Errorf("exit code %d, want %d", code, exitInvalid)
			}
			got := strings.ReplaceAll(errOut.String(), claims+"/platforms/", "")
			checkSentences(t, errorLocation.ReplaceAllString(errOut.String(), ""), 1)
			if !strings.Contains(got, "PlatformConfig default: spec.") {
				t.Errorf("it is not about the PlatformConfig: %.300q", got)
			}
			wantFile := strings.TrimSuffix(file, ".yaml") + ".want"
			if *update {
				if err := os.WriteFile(wantFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wantFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHugeClaimError is about claims that are too large to be kept as files.
func TestHugeClaimError(t *testing.T) {
	const head = "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nmetadata: {namespace: tenant-a, name: cloud}\n" +
		"spec:\n  openStackRelease: \"2025.2\"\n"
	large := strings.Repeat("x", effort.Of(1<<18, 1<<20))
	groups := ""
	for i := range 65 {
		groups += fmt.Sprintf("g%d: {}, ", i)
	}
	for name, claim := range map[string]string{
		"option":       head + "  services: {keystone: {config: {token: {provider: " + large + "}}}}\n",
		"option name":  head + "  services: {keystone: {allowUnknown: true, config: {token: {\"" + large + "\": 1}}}}\n",
		"group name":   head + "  services: {keystone: {config: {\"" + large[:1<<17] + "\": {a: 1}}}}\n",
		"rule name":    head + "  services: {keystone: {policy: {\"" + large + "\": \"@\"}}}\n",
		"hostname":     head + "  services: {keystone: {hostname: " + large + "}}\n",
		"many groups":  head + "  services: {keystone: {config: {" + strings.ReplaceAll(large[:1<<12], "x", "{}, ") + "}}}\n",
		"deep mapping": strings.Repeat("{a: ", 1<<16) + strings.Repeat("}", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			got := rejected(t, strings.NewReader(claim), "-f", "-")
			checkSentences(t, got, 1)
			if len(got) > 2000 {
				t.Errorf("the sentence has %d bytes", len(got))
			}
		})
	}
}

// rejected runs the preview with an invalid claim and all kinds of output, and returns the error messages.
func rejected(t *testing.T, in *strings.Reader, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	var out, errOut bytes.Buffer
	if in == nil {
		in = strings.NewReader("")
	}
	code := run(append([]string{"preview", "-e", claims + "/platformconfig.yaml", "-o", dir, "--format", "json"}, args...), in, &out, &errOut)
	if code != exitInvalid {
		t.Errorf("exit code %d, want %d", code, exitInvalid)
	}
	printed := struct {
		Rejected []struct {
			Message string `json:"message"`
		} `json:"refused"`
	}{}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Errorf("standard output: %v: %.500s", err, out.String())
	}
	lines := strings.Split(strings.TrimSuffix(errOut.String(), "\n"), "\n")
	if len(printed.Rejected) != len(lines) {
		t.Fatalf("%d mistakes in JSON and %d lines:\n%.1000s", len(printed.Rejected), len(lines), errOut.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, printed.Rejected[i].Message) {
			t.Errorf("JSON contains %.300q, and the line %.300q", printed.Rejected[i].Message, line)
		}
		lines[i] = errorLocation.ReplaceAllString(line, "")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s was made (%v)", dir, err)
	}
	return strings.Join(lines, "\n") + "\n"
}

// errorLocation matches the file and the line of an error.
var errorLocation = regexp.MustCompile(`^\S+/(?:testdata|platforms)/\S+\.yaml(:[0-9]+)?: `)

// checkSentences checks the form of error messages: the number of lines, the field in each line, and the absence of control characters.
func checkSentences(t *testing.T, text string, lines int) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(got) != lines {
		t.Errorf("%d lines, want %d:\n%.1000s", len(got), lines, text)
	}
	for _, line := range got {
		if !sentence.MatchString(line) {
			t.Errorf("no sentence with a field: %.300q", line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
			t.Errorf("control characters: %.300q", line)
		}
	}
}
