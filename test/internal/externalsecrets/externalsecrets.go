// Package externalsecrets builds the released External Secrets, with the few providers and generators that tests need.
package externalsecrets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the newest version of External Secrets that is one module: later ones need modules that no proxy has.
const Module = "github.com/external-secrets/external-secrets@v0.20.4"

// registered are the packages of External Secrets that are built in: providers and generators. All of them would be 300 modules.
var registered = map[string][]string{
	"provider":  {"fake", "kubernetes", "vault"},
	"generator": {"fake", "password", "sshkey", "uuid"},
}

// Build returns the folder of the module and the program, which is built once and kept in bin below a folder. It is
// built from a copy of the module, because the list of providers is in its sources; its hash covers the module's go.mod
// and go.sum, which define all other dependencies.
func Build(ctx context.Context, folder string, log io.Writer) (source, program string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", Module)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off", "GOFLAGS=") // it belongs to no module
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("cannot get its sources: %w: %s", err, out)
	}
	var module struct {
		Dir     string `json:"Dir"`
		Version string `json:"Version"`
	}
	if err := json.Unmarshal(out, &module); err != nil {
		return "", "", err
	}
	program = filepath.Join(folder, "bin", "external-secrets-"+module.Version)
	if _, err := os.Stat(program); err == nil {
		return module.Dir, program, nil
	}
	fmt.Fprintln(log, "builds External Secrets, once")
	scratch, err := os.MkdirTemp("", "external-secrets-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	tree := filepath.Join(scratch, "source")
	if err := os.CopyFS(tree, os.DirFS(module.Dir)); err != nil {
		return "", "", err
	}
	for kind, names := range registered {
		var text strings.Builder
		fmt.Fprintf(&text, "package register\n\nimport (\n")
		for _, n := range names {
			fmt.Fprintf(&text, "\t_ \"github.com/external-secrets/external-secrets/pkg/%s/%s\"\n", kind, n)
		}
		fmt.Fprintf(&text, ")\n")
		if err := os.WriteFile(filepath.Join(tree, "pkg", kind, "register", "register.go"), []byte(text.String()), 0o600); err != nil {
			return "", "", err
		}
	}
	cmd = exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=-s -w",
		"-o", program+".new", ".")
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("%w\n%s", err, out)
	}
	return module.Dir, program, os.Rename(program+".new", program)
}
