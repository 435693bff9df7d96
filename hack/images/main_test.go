package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root of the repository.
const root = "../.."

func TestPlan(t *testing.T) {
	j, err := plan(context.Background(), "keystone", options{root: root, release: "2025.2"})
	if err != nil {
		t.Fatal(err)
	}
	if j.reference != "ghcr.io/c5c3/keystone:28.1.0" || j.name() != "c5c3/keystone:28.1.0" {
		t.Errorf("got %s and %s", j.reference, j.name())
	}
	if got := j.files["requirements.txt"]; !strings.HasPrefix(got, "keystone==28.1.0\n") {
		t.Errorf("got requirements %q", got)
	}
	if !strings.Contains(j.files["constraints.txt"], "alembic==") {
		t.Error("the release's constraints are missing")
	}
	for name, want := range map[string]string{
		"org.opencontainers.image.version": "28.1.0", "io.c5c3.release": "2025.2", "io.c5c3.patches": "", "io.c5c3.overrides": "",
	} {
		if got, ok := j.labels[name]; !ok || got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
}

// TestRecipesGetTheirArguments checks that the values of an image's row are passed to the recipe, which also builds without them.
func TestRecipesGetTheirArguments(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^ARG ([A-Z]+)$`)
	for _, name := range []string{"glance", "nova"} {
		j, err := plan(context.Background(), name, options{root: root})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(j.files["Containerfile"], -1) {
			if _, ok := j.args[m[1]]; !ok {
				t.Errorf("%s: the recipe's argument %s is not given", name, m[1])
			}
		}
		for argument, want := range map[string][]string{
			"COMPILE": j.image.Compile, "RUNTIME": j.image.Runtime, "MODULES": j.image.Modules, "PAGES": j.image.Pages,
		} {
			if got := j.args[argument]; got != strings.Join(want, " ") {
				t.Errorf("%s: argument %s is %q, want %q", name, argument, got, want)
			}
		}
	}
}

func TestProxyImageContainsOpenIDCModule(t *testing.T) {
	j, err := plan(context.Background(), "keystone-federation-proxy", options{root: root})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(j.files["Containerfile"], "mod_auth_openidc") || len(j.files) != 1 {
		t.Errorf("got files %v", j.files)
	}
}

func TestPlanRejectsUnknownImageOrRelease(t *testing.T) {
	for _, tc := range []struct{ name, release, want string }{
		{"swift", "", `there is no image "swift"`},
		{"keystone", "2024.1", "is not supported"},
	} {
		if _, err := plan(context.Background(), tc.name, options{root: root, release: tc.release}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s in %s: got %v, want %q", tc.name, tc.release, err, tc.want)
		}
	}
}

// TestBuildsCommitWithAcceptedTag checks that a stable branch and a commit have tags that claims accept, and that the commit is built.
func TestBuildsCommitWithAcceptedTag(t *testing.T) {
	tree := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "stable/2025.2")
	if err := os.WriteFile(filepath.Join(tree, "setup.py"), []byte("committed"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	commit := git("rev-parse", "HEAD")
	if err := os.WriteFile(filepath.Join(tree, "setup.py"), []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := options{root: root, release: "2025.2", source: tree}
	j, err := plan(context.Background(), "keystone", o)
	if err != nil {
		t.Fatal(err)
	}
	if j.reference != "ghcr.io/c5c3/keystone:stable-2025.2" || j.commit != commit {
		t.Errorf("got %s of %s", j.reference, j.commit)
	}
	folder := t.TempDir()
	if err := j.write(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "source", "setup.py")); err != nil || string(got) != "committed" {
		t.Errorf("got %q, %v: want the build of the commit", got, err)
	}
	git("checkout", "-q", "--detach")
	if j, err = plan(context.Background(), "keystone", o); err != nil || j.reference != "ghcr.io/c5c3/keystone:"+commit[:12] {
		t.Errorf("got %s, %v", j.reference, err)
	}
}
