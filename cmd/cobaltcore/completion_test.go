package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestShellsAcceptCompletionScripts tests that each shell accepts its script, if the shell is installed.
func TestShellsAcceptCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run([]string{"completion", shell}, strings.NewReader(""), &out, &errOut); code != 0 || !strings.Contains(out.String(), "__complete") {
				t.Fatalf("exit code %d: %s", code, errOut.String())
			}
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = &out
			if output, err := check.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func TestCompletesCommandsFlagsAndArguments(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   []string
	}{
		"Commands": {"Every command is offered.", []string{""}, []string{"completion", "doctor", "explain", "images", "preview", "validate", "version"}},
		"Values":   {"The values of a flag are offered.", []string{"validate", "--format", ""}, []string{"github", "json", "junit", "sarif", "text"}},
		"Flags":    {"The flags of a command are offered.", []string{"doctor", "--cap"}, []string{"--capture"}},
		"Argument": {"The values of an argument are offered.", []string{"completion", ""}, []string{"bash", "fish", "zsh"}},
		"Claims":   {"Kinds end with a slash, for the name.", []string{"doctor", "storagec"}, []string{"storagecluster/"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(append([]string{"__completeNoDesc"}, tc.args...), strings.NewReader(""), &out, &errOut); code != 0 {
				t.Fatalf("exit code %d: %s", code, errOut.String())
			}
			got := strings.Fields(out.String())
			for _, want := range tc.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s\ngot %q, want %q", tc.reason, got, want)
				}
			}
		})
	}
}

// TestProgramName tests that messages have the name by which the user calls the program.
func TestProgramName(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/bin/cobaltcore": "cobaltcore", "/home/u/.krew/bin/kubectl-cobaltcore": "kubectl cobaltcore", "cobaltcore.test": "cobaltcore",
	} {
		if got := programName(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
