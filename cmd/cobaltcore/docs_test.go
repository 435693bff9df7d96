package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

var (
	yamlCode    = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")
	fencedCode  = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
	previewLine = regexp.MustCompile(`(?m)^\s*(?:cobaltcore|go run \./cmd/cobaltcore) (preview\b[^#|>&\n]*)`)
	makePreview = regexp.MustCompile(`(?m)^\s*(?:time )?make preview CLAIM="?(examples/[^"#|>&\n]*\.yaml)"?`)
	claimKind   = regexp.MustCompile(`(?m)^kind: (` + strings.Join(referencedKinds, "|") + `)$`)
	exampleFile = regexp.MustCompile(`\bexamples/[A-Za-z0-9_/-]+\.yaml\b`)
)

// withOthers are the examples of claims that refer to another claim, with the examples of those.
var withOthers = map[string][]string{
	"examples/complete/control-plane.yaml": {"examples/complete/storage.yaml"},
	"examples/complete/hypervisors.yaml":   {"examples/complete/storage.yaml", "examples/complete/control-plane.yaml"},
	"examples/hypervisor/agents.yaml":      {"examples/hypervisor/agents-control-plane.yaml"},
	"examples/hypervisor/claim.yaml":       {"examples/hypervisor/control-plane.yaml"},
	"examples/hypervisor/own-cluster.yaml": {"examples/hypervisor/exposed-control-plane.yaml"},
	"examples/hypervisor/sriov.yaml":       {"examples/hypervisor/sriov-control-plane.yaml"},
	"examples/keystoneservice/agent.yaml":  {"examples/keystoneservice/control-plane.yaml"},
	"examples/keystoneservice/claim.yaml":  {"examples/keystoneservice/control-plane.yaml"},
	"examples/storage/control-plane.yaml":  {"examples/storage/claim.yaml"},
	"examples/storage/hypervisors.yaml":    {"examples/storage/claim.yaml", "examples/storage/control-plane.yaml"},
}

// TestExamplesOfPages checks that every example that a page names exists, that every claim among them can be previewed, and that every
// preview of examples on a page succeeds.
func TestExamplesOfPages(t *testing.T) {
	t.Chdir("../..")
	pages := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{} // Pages by command.
	claims := map[string][]string{}   // Pages by claim.
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range exampleFile.FindAllString(string(data), -1) {
			example, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s names %s, which does not exist", page, file)
			}
			if claimKind.Match(example) {
				claims[file] = append(claims[file], page)
			}
		}
		for _, command := range previewsOf(string(data)) {
			commands[command] = append(commands[command], page)
		}
	}
	if len(commands) < 5 {
		t.Fatalf("found %d previews only: %v", len(commands), commands)
	}
	// hack/chart composes every example, too. make test previews half of those that no command names here, and make test-long all.
	for _, file := range effort.Sample(slices.Sorted(maps.Keys(claims)), 2) {
		from := claims[file]
		covered := func(command string) bool { return strings.Contains(command, file) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(commands)), covered) {
			commands["preview -f "+strings.Join(append([]string{file}, withOthers[file]...), " -f ")] = from
		}
	}
	for command, from := range commands {
		t.Run(command, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(strings.Fields(command), strings.NewReader(""), &out, &errOut); code != 0 || out.Len() == 0 {
				t.Errorf("%s: exit code %d, %d bytes: %s", strings.Join(from, ", "), code, out.Len(), errOut.String())
			}
		})
	}
}

// TestClaimsOfTutorials checks that the claims on each tutorial, and on the guides for tenants, can be previewed together, with limits as on
// the tutorials. A tutorial with a rejected claim has its error message.
func TestClaimsOfTutorials(t *testing.T) {
	pages, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../docs/how-to/create-a-cloud.md", "../../docs/how-to/openstack-cluster.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"preview", "-e", "testdata/tutorials.yaml"}
		for _, file := range claimsOn(t, string(data)) {
			args = append(args, "-f", file)
		}
		if len(args) == 3 {
			continue
		}
		checked++
		var out, errOut bytes.Buffer
		if code := run(args, strings.NewReader(""), &out, &errOut); code == 0 {
			continue
		}
		_, message, _ := strings.Cut(errOut.String(), "claim.yaml:")
		if message = strings.TrimSpace(message); message == "" || !strings.Contains(string(data), "claim.yaml:"+message) {
			t.Errorf("%s: %s", page, errOut.String())
		}
	}
	if checked < 6 {
		t.Errorf("only %d tutorials have claims", checked)
	}
}

// previewsOf returns the arguments of each preview in the shell code of a page whose claims are all examples.
func previewsOf(page string) []string {
	var out []string
	for _, block := range fencedCode.FindAllStringSubmatch(page, -1) {
		code := strings.ReplaceAll(block[1], "\\\n", " ")
		for _, m := range makePreview.FindAllStringSubmatch(code, -1) {
			out = append(out, "preview -f "+strings.Join(strings.Fields(m[1]), " -f "))
		}
		for _, m := range previewLine.FindAllStringSubmatch(code, -1) {
			args := strings.Fields(m[1])
			if slices.Contains(args, "-o") || strings.Count(m[1], "-f ")+strings.Count(m[1], "-e ") != len(exampleFile.FindAllString(m[1], -1)) {
				continue // It writes files, or has a claim or a platform of the reader.
			}
			out = append(out, strings.Join(args, " "))
		}
	}
	return out
}

func TestPreviewsOf(t *testing.T) {
	cases := map[string]struct {
		reason, code string
		want         []string
	}{
		"Several": {
			reason: "A command can have several claims and lines.",
			code:   "cobaltcore preview -f examples/a.yaml \\\n  -f examples/b.yaml\n",
			want:   []string{"preview -f examples/a.yaml -f examples/b.yaml"},
		},
		"Make": {
			reason: "The make target takes a list of claims.",
			code:   "make preview CLAIM=\"examples/a.yaml examples/b.yaml\"   # both\n",
			want:   []string{"preview -f examples/a.yaml -f examples/b.yaml"},
		},
		"Redirect": {
			reason: "Output into a file is not an argument.",
			code:   "cobaltcore preview -f examples/a.yaml --format yaml > a.yaml\n",
			want:   []string{"preview -f examples/a.yaml --format yaml"},
		},
		"OwnClaim": {reason: "A claim of the reader does not exist.", code: "cobaltcore preview -f claim.yaml\n"},
		"OwnPlatform": {
			reason: "A platform of the reader does not exist.", code: "cobaltcore preview -f examples/a.yaml -e platformconfig.yaml\n",
		},
		"Output": {reason: "A test writes no files.", code: "cobaltcore preview -f examples/a.yaml -o out\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := previewsOf("# Page\n\n```sh\n" + tc.code + "```\n"); !slices.Equal(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
