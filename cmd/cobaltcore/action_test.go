package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestActionPassesInputsToCommand runs the last step of the GitHub action, and gives its arguments to the command.
func TestActionPassesInputsToCommand(t *testing.T) {
	data, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	action := struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}{}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	for _, value := range step.Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		if action.Inputs[name].Description == "" {
			t.Errorf("%s is not a described input", value)
		}
	}
	claims, err := filepath.Abs("../../examples/complete/hypervisors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stub := "#!/bin/sh\nfor a in \"$@\"; do echo \"$a\"; done > " + dir + "/arguments\n"
	if err := os.WriteFile(filepath.Join(dir, "cobaltcore"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	for assume, want := range map[string]int{"true": 0, "false": exitInvalid} {
		script := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", step.Run)
		script.Env = append(os.Environ(), "RUNNER_TEMP="+dir, "FILES="+claims+"\n", "PLATFORM=", "ASSUME_REFERENCES="+assume)
		if output, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		arguments, err := os.ReadFile(filepath.Join(dir, "arguments"))
		if err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		code := run(strings.Split(strings.TrimSuffix(string(arguments), "\n"), "\n"), strings.NewReader(""), &out, &errOut)
		if code != want || want != 0 && !strings.HasPrefix(out.String(), "::error ") {
			t.Errorf("assume-references %s: exit code %d, want %d: %s%s", assume, code, want, out.String(), errOut.String())
		}
	}
}

// TestPreCommitHookRunsExistingCommand tests that the hook for pre-commit calls a command that exists, and that needs no file among its
// arguments.
func TestPreCommitHookRunsExistingCommand(t *testing.T) {
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID            string `json:"id"`
		Name          string `json:"name"`
		Entry         string `json:"entry"`
		Language      string `json:"language"`
		PassFilenames *bool  `json:"pass_filenames"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil || len(hooks) != 1 {
		t.Fatalf("%d hooks: %v", len(hooks), err)
	}
	hook := hooks[0]
	if hook.ID == "" || hook.Name == "" || hook.Language != "golang" || hook.PassFilenames == nil || *hook.PassFilenames {
		t.Errorf("hook: %+v", hook)
	}
	program, arguments, _ := strings.Cut(hook.Entry, " ")
	var out, errOut bytes.Buffer
	args := append(strings.Fields(arguments), "-f", "../../examples/controlplane/claim.yaml")
	if code := run(args, strings.NewReader(""), &out, &errOut); program != "cobaltcore" || code != 0 {
		t.Errorf("%s: exit code %d: %s", hook.Entry, code, errOut.String())
	}
}
