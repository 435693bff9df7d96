package crds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A module is a line of modules.txt.
type module struct {
	path, version, sum string
	globs              []string
	// dir is the module's folder in the module cache, once downloaded.
	dir string
}

// String returns the module in the form of the go command.
func (m *module) String() string { return m.path + "@" + m.version }

// parseModules reads modules.txt: a module a line, its fields parted by spaces, comments after #.
func parseModules(table string) ([]*module, error) {
	var modules []*module
	for i, line := range strings.Split(table, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 4 || !strings.HasPrefix(fields[2], "h1:") {
			return nil, fmt.Errorf("modules.txt:%d: want <module> <version> h1:<hash> <glob>..., got %q", i+1, line)
		}
		modules = append(modules, &module{path: fields[0], version: fields[1], sum: fields[2], globs: fields[3:]})
	}
	return modules, nil
}

// downloaded is the output of go mod download -json for a module.
type downloaded struct {
	Path    string `json:"Path"`
	Version string `json:"Version"`
	Dir     string `json:"Dir"`
	Sum     string `json:"Sum"`
	Error   string `json:"Error"`
}

// download brings the modules into the module cache, notes their folders and compares their hashes with the table's.
func download(ctx context.Context, modules []*module) error {
	byName := map[string]*module{}
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		byName[m.String()] = m
		args = append(args, m.String())
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	// Outside any module, so that no go.mod takes part in it.
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 { // a module that fails is in the output, with its reason
		return fmt.Errorf("cannot run go mod download: %w: %s", err, stderr.String())
	}

	var errs []error
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var got downloaded
		if err := dec.Decode(&got); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("cannot read the output of go mod download: %w", err)
		}
		m := byName[got.Path+"@"+got.Version]
		switch {
		case got.Error != "":
			errs = append(errs, fmt.Errorf("cannot download %s", got.Error))
		case m == nil:
			errs = append(errs, fmt.Errorf("go mod download returned %s@%s, which was not requested", got.Path, got.Version))
		case got.Sum != m.sum:
			errs = append(errs, fmt.Errorf("%s has the hash %s, want %s from modules.txt", m, got.Sum, m.sum))
		default:
			m.dir = got.Dir
		}
	}
	for _, m := range modules {
		if m.dir == "" && len(errs) == 0 {
			errs = append(errs, fmt.Errorf("go mod download returned nothing for %s", m))
		}
	}
	return errors.Join(errs...)
}
