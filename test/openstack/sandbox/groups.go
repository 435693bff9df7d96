//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// Groups is the mount point of control groups in a sandbox.
const Groups = "/sys/fs/cgroup"

// groupEnv is the sandbox's control group, which the process that entered it removes after its end.
const groupEnv = "COBALTCORE_SANDBOX_GROUP"

// OwnGroup returns the control group of the sandbox, as the parent of containers' groups.
func OwnGroup() string { return os.Getenv(groupEnv) }

// hierarchies returns the folders of the control group hierarchies: one, or with cgroup v1 one for each controller.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(Groups, "cgroup.controllers")); err == nil {
		return []string{Groups}, nil
	}
	found, err := filepath.Glob(filepath.Join(Groups, "*", "cgroup.procs"))
	if err == nil && len(found) == 0 {
		err = errors.New("this machine has no control groups")
	}
	var out []string
	for _, f := range found {
		dir := filepath.Dir(f)
		if info, e := os.Lstat(dir); e == nil && info.IsDir() { // links are other names of the same
			out = append(out, dir)
		}
	}
	return out, err
}

// MakeGroup creates a control group in every hierarchy, and returns its folders by the names of the hierarchies; the
// name of a unified hierarchy is empty.
func MakeGroup(group string) (map[string]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, fmt.Errorf("cannot find control groups: %w", err)
	}
	out := map[string]string{}
	for _, h := range all {
		dir := h
		for part := range strings.SplitSeq(group, "/") {
			above := dir
			if dir = filepath.Join(dir, part); os.Mkdir(dir, 0o755) != nil { // it exists, or the next step returns the error
				continue
			}
			if err := inheritCPUs(h, above, dir); err != nil {
				return nil, fmt.Errorf("cannot make control group %s: %w", dir, err)
			}
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("cannot make control group %s: %w", dir, err)
		}
		name, err := filepath.Rel(Groups, h)
		if err != nil {
			return nil, err
		}
		out[name] = dir
	}
	return out, nil
}

// inheritCPUs copies the processors and the memory nodes of the parent group: a cgroup v1 group without them accepts no
// process.
func inheritCPUs(hierarchy, above, group string) error {
	if filepath.Base(hierarchy) != "cpuset" {
		return nil
	}
	var errs []error
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if text, err := os.ReadFile(filepath.Join(above, file)); err == nil {
			errs = append(errs, os.WriteFile(filepath.Join(group, file), text, 0o644))
		}
	}
	return errors.Join(errs...)
}

// JoinGroup moves a process into a control group, which is created.
func JoinGroup(group string, pid int) error {
	dirs, err := MakeGroup(group)
	for _, dir := range dirs {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	}
	return err
}

// endGroup kills all processes of a control group, in all hierarchies, as container runtimes do, and removes it.
func endGroup(group string) {
	all, err := hierarchies()
	if err != nil {
		return
	}
	const timeout = 10 * time.Second
	for started := time.Now(); stopwatch.Since(started) < timeout; time.Sleep(10 * time.Millisecond) {
		remaining := false
		for _, h := range all {
			text, err := os.ReadFile(filepath.Join(h, group, "cgroup.procs"))
			if err != nil {
				continue
			}
			for line := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
					remaining = true
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
		if !remaining {
			break
		}
	}
	RemoveGroup(group)
}

// RemoveGroup removes a control group and all below it, if it has no processes.
func RemoveGroup(group string) {
	all, err := hierarchies()
	if err != nil || group == "" {
		return
	}
	for _, h := range all {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(h, group), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		slices.Reverse(dirs) // those below first
		for _, d := range dirs {
			_ = os.Remove(d)
		}
	}
}
