package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

var (
	anyCode     = regexp.MustCompile("(?ms)^ *```\\w+\n(.*?)^ *```$")
	commandLine = regexp.MustCompile(
		`(?m)^\s*(?:- run: )?(?:cobaltcore|go run \./cmd/cobaltcore) ((?:preview|plan|validate|images|explain|completion|version)\b[^#|><&\n]*)`)
	// printedLine matches the lines of a preview on a page, and printedTotal its last line inside a sentence.
	printedLine  = regexp.MustCompile(`(?m)^ *((?:[├└]─ |needs Secret |\S+ \S+/\S+ → namespace ).*)$`)
	printedTotal = regexp.MustCompile("`(\\d+ objects in \\d+ stages)`")
)

// documentPages returns the texts of the pages of docs by path.
func documentPages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// commandsOf returns the arguments of the commands of a page, without commands that diagnose a cluster.
func commandsOf(page string) []string {
	var out []string
	for _, block := range anyCode.FindAllStringSubmatch(page, -1) {
		for _, m := range commandLine.FindAllStringSubmatch(strings.ReplaceAll(block[1], "\\\n", " "), -1) {
			out = append(out, strings.Join(strings.Fields(m[1]), " "))
		}
	}
	return out
}

// TestCommandsOfPages runs the commands of all pages, with an example in place of the claims of the reader, also as objects of a cluster.
func TestCommandsOfPages(t *testing.T) {
	commands := map[string][]string{} // Pages by command.
	for path, page := range documentPages(t) {
		for _, command := range commandsOf(page) {
			// TestExamplesOfPages previews examples. A list of messages has names of values in braces.
			previewed := strings.HasPrefix(command, "preview ") && strings.Contains(command, "examples/")
			if !previewed && !strings.Contains(path, "reference/messages/") {
				commands[command] = append(commands[command], path)
			}
		}
	}
	if len(commands) < 15 {
		t.Errorf("found %d commands only: %v", len(commands), commands)
	}
	platform, err := os.ReadFile("testdata/tutorials.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := plan.Compose(plan.Input{
		Platform: plan.Document{Data: examples.Platform},
		Claims:   []plan.Document{{Identity: preview.IdentityOf(examples.Claim), Data: examples.Claim}},
	}, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", newFakeCluster(t, cloud).serve(t))
	t.Chdir(t.TempDir())
	if err := os.Symlink(folder, "examples"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("platformconfig.yaml", platform, 0o600); err != nil {
		t.Fatal(err)
	}
	var state, errOut bytes.Buffer
	if code := run([]string{"state", "-f", "-", "-e", "platformconfig.yaml"}, bytes.NewReader(examples.Claim), &state, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	program := []byte("#!/bin/sh\ncat state.json\n") // The functions of both programs are equal.
	if err := os.WriteFile("cobaltcore-v0.1.0", program, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"state.json": state.Bytes(), "platformconfig.json": platform, "new-platform.yaml": platform}
	for _, name := range []string{"claim", "cloud", "old", "new", "now", "restored", "storage", "claims", "claims/prod", "old-claims/prod", "old/claims/prod"} {
		files[name+".yaml"] = examples.Claim
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command, from := range commands {
		t.Run(command, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(strings.Fields(command), bytes.NewReader(examples.Claim), &out, &errOut); code != 0 {
				t.Errorf("%s: exit code %d: %s", strings.Join(from, ", "), code, errOut.String())
			}
		})
	}
}

// TestPreviewsOnPages checks that each line of a preview on a page is printed for a claim of the page, or for the examples that the page
// previews. A line of a page can end with an ellipsis.
func TestPreviewsOnPages(t *testing.T) {
	const complete = "preview -f examples/complete/storage.yaml -f examples/complete/control-plane.yaml -f examples/complete/hypervisors.yaml"
	checked := 0
	for path, page := range documentPages(t) {
		var lines []string
		for _, m := range append(printedLine.FindAllStringSubmatch(page, -1), printedTotal.FindAllStringSubmatch(page, -1)...) {
			lines = append(lines, m[1])
		}
		if len(lines) == 0 || strings.HasPrefix(page, "<!-- Generated") {
			continue
		}
		commands := previewsOf(page)
		if strings.Contains(page, "\nmake preview\n") {
			commands = append(commands, complete)
		}
		for _, file := range claimsOn(t, page) {
			commands = append(commands, "preview -f "+file)
		}
		var printed []string
		for _, command := range commands {
			var out, errOut bytes.Buffer
			args := strings.Fields(strings.ReplaceAll(command, " examples/", " ../../examples/"))
			if strings.Contains(page, " -e platformconfig.") {
				args = append(args, "-e", "testdata/tutorials.yaml")
			}
			run(args, strings.NewReader(""), &out, &errOut) // Other tests check the exit code.
			printed = append(printed, strings.Split(out.String(), "\n")...)
		}
		for _, line := range lines {
			checked++
			start, _, _ := strings.Cut(line, "…")
			if !slices.ContainsFunc(printed, func(p string) bool { return strings.HasPrefix(p, start) }) {
				t.Errorf("%s: no preview of the page prints %q; replace it with a line of the output", path, line)
			}
		}
	}
	if checked < 6 {
		t.Errorf("only %d lines are on pages", checked)
	}
}

// claimsOn writes each claim in the YAML code of a page to a file, and returns the files.
func claimsOn(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, block := range yamlCode.FindAllStringSubmatch(page, -1) {
		indent := block[1][:len(block[1])-len(strings.TrimLeft(block[1], " "))]
		claim := strings.ReplaceAll("\n"+block[1], "\n"+indent, "\n")[1:]
		if !claimKind.MatchString(claim) {
			continue
		}
		file := filepath.Join(t.TempDir(), "claim.yaml")
		if err := os.WriteFile(file, []byte(claim), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, file)
	}
	return out
}

// TestDoctorOnPage checks that the guide on claims that are not ready shows what the command prints for a Keystone without its image.
func TestDoctorOnPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/how-to/find-the-cause.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^ *```text\n(.*?)^ *```$").FindStringSubmatch(string(data))
	if block == nil {
		t.Fatal("the page has no output")
	}
	want := strings.ReplaceAll("\n"+block[1], "\n    ", "\n")[1:]
	c := newCloud(t)
	c.down("Deployment", "keystone", waiting("ImagePullBackOff", `Back-off pulling image "registry.example.com/keystone:2025.2"`))
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := []any{}
	for _, o := range c.objects() {
		items = append(items, o.Object)
	}
	list["items"] = items
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	args := []string{"doctor", "controlplanecluster/cloud", "-n", "tenant-a", "--from", dir}
	if code := run(args, strings.NewReader(""), &out, &errOut); code != exitInvalid {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("the page differs from the command (-page +command):\n%s", diff)
	}
}
