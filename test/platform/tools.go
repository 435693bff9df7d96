package platform

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

// defaultCore is the tool with the oldest supported Crossplane.
const defaultCore = "crossplane-core"

// tools are the programs of a platform by name, and the tool of hack/tools that contains each.
var tools = map[string]string{
	"etcd":                    "kubernetes",
	"kube-apiserver":          "kubernetes",
	"kube-controller-manager": "kubernetes",
	"kubectl":                 "kubernetes",
	"crossplane-core":         defaultCore,
	"provider-kubernetes":     "provider-kubernetes",
	"helm":                    "helm",
}

// build builds missing programs, and makes every program known to the processes.
func build(ctx context.Context, root, core string, ps *process.Group, log io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("cannot find the Go toolchain; install Go 1.26 or newer")
	}
	paths := map[string]string{}
	for name, tool := range tools {
		if tool == defaultCore {
			tool = core
		}
		if paths[tool] == "" {
			cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "tools", "build.sh"), tool)
			cmd.Stderr = log
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("cannot build %s with hack/tools/build.sh: %w", tool, err)
			}
			paths[tool] = strings.TrimSpace(string(out))
		}
		if err := ps.Link(name, paths[tool]); err != nil {
			return err
		}
	}
	return nil
}

// buildProgram builds the program in a folder of a tree, and makes it known by a name. A program of the current tree is
// kept in the cache folder, where it is linked again only if it has changed.
func (p *Platform) buildProgram(ctx context.Context, tree, folder, name string) error {
	path := filepath.Join(p.Dir, "bin", name)
	if tree == p.options.Root {
		cache, err := CacheDir()
		if err != nil {
			return err
		}
		path = filepath.Join(cache, "bin", fmt.Sprintf("platform-%s-%x", folder, sha256.Sum256([]byte(tree)))[:40])
		if err := p.processes.Link(name, path); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, "./"+folder)
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", folder, err, out)
	}
	return nil
}

// source returns the folder of a tool's module, which also contains its CRDs and charts.
func source(ctx context.Context, root, tool, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "hack", "tools", tool)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var m struct {
		Dir   string `json:"Dir"`
		Error string `json:"Error"`
	}
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil || m.Dir == "" {
		return "", fmt.Errorf("cannot get the sources of %s (the module proxy is needed once): %w",
			module, errors.Join(err, jsonErr, errorOf(m.Error)))
	}
	return m.Dir, nil
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// findRoot returns the folder of this repository, from the working directory.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "hack", "tools", "build.sh")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("cannot find the repository; run this in it, or set its path")
		}
	}
}

// CacheDir returns the folder for everything outside the tree: $COBALTCORE_CACHE, by default ~/.cache/cobaltcore.
func CacheDir() (string, error) {
	if dir := os.Getenv("COBALTCORE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a cache folder, set COBALTCORE_CACHE: %w", err)
	}
	return filepath.Join(home, ".cache", "cobaltcore"), nil
}
