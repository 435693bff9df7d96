// Package process runs programs for the duration of a test: each with a log and a name, stopped with the test.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Group is a group of programs: if one ends unexpectedly, waiting for any of them fails. All their files are below one
// folder:
//
//	bin/    the programs, as symbolic links: the path of a process identifies it
//	logs/   the output of each
//	pids/   the process ID of each
//
// They end with the process that started them, however it ends: on Linux the kernel kills them, on other systems the
// next start does.
type Group struct {
	// Dir is the folder.
	Dir string
	// Env are variables of all programs, in addition to the caller's environment.
	Env []string

	mu      sync.Mutex
	running []*Process
	stopped bool
}

// Process is a running program.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	mayEnd bool          // its end is no failure
	done   chan struct{} // closed when it has ended
}

// starter starts every process. The kernel ends a child when the *thread* that started it ends, so that has to be one that
// lives as long as this process.
var starter = sync.OnceValue(func() chan func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

// Link registers a program under a name.
func (ps *Group) Link(name, path string) error {
	link := filepath.Join(ps.Dir, "bin", name)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(path, link)
}

// garbageCollection makes programs in Go use less processor time and more memory, up to a limit: without it, an API server used 10 GiB
// after an hour of tests.
var garbageCollection = []string{"GOGC=300", "GOMEMLIMIT=4GiB"}

// Command returns the command of a linked program, or of a path, with arguments and additional environment.
func (ps *Group) Command(ctx context.Context, program string, env []string, args ...string) *exec.Cmd {
	if !strings.Contains(program, "/") {
		program = filepath.Join(ps.Dir, "bin", program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = slices.Concat(os.Environ(), garbageCollection, ps.Env, env)
	cmd.Dir = ps.Dir
	return cmd
}

// Run runs a linked program to completion and returns its output. The error contains its error output.
func (ps *Group) Run(ctx context.Context, program string, env []string, args ...string) ([]byte, error) {
	cmd := ps.Command(ctx, program, env, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// Start starts a linked program for the lifetime of the group; name is the name of its log.
func (ps *Group) Start(name, program string, env []string, args ...string) error {
	p, err := ps.Launch(name, program, env, args...)
	if err == nil {
		ps.mu.Lock()
		p.mayEnd = false
		ps.mu.Unlock()
	}
	return err
}

// Launch starts a linked program that may end before the group does; name is the name of its log.
func (ps *Group) Launch(name, program string, env []string, args ...string) (*Process, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return nil, fmt.Errorf("cannot start %s: the group is being stopped", name)
	}
	for _, d := range []string{"logs", "pids"} {
		if err := os.MkdirAll(filepath.Join(ps.Dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	p := &Process{name: name, log: filepath.Join(ps.Dir, "logs", name+".log"), mayEnd: true, done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	// The process is stopped explicitly, and not by a context that may be shorter.
	p.cmd = ps.Command(context.Background(), program, env, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes()
	failed := make(chan error)
	starter() <- func() { failed <- p.cmd.Start() }
	if err := <-failed; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, errors.Join(err, log.Close()))
	}
	go func() {
		_ = p.cmd.Wait() // its log has more information than its exit code
		_ = log.Close()
		close(p.done)
	}()
	ps.running = append(ps.running, p)
	return p, os.WriteFile(filepath.Join(ps.Dir, "pids", name), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0o644)
}

// Forget removes a process that has ended or may end; nil is ignored.
func (ps *Group) Forget(p *Process) {
	if p == nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.running = slices.DeleteFunc(ps.running, func(r *Process) bool { return r == p })
	_ = os.Remove(filepath.Join(ps.Dir, "pids", p.name))
}

// end kills a process with all its children, and waits until it has exited. Its data is temporary, so it needs no
// graceful stop.
func (p *Process) end() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Signal sends a signal to a process and its children, unless it has ended: its ID may be reused then.
func (p *Process) Signal(s syscall.Signal) {
	if !p.HasEnded() {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Signal sends a signal to a running program, by the name of its log, and to its children.
func (ps *Group) Signal(name string, s syscall.Signal) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	i := slices.IndexFunc(ps.running, func(p *Process) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("%s does not run", name)
	}
	ps.running[i].Signal(s)
	return nil
}

// HasEnded reports whether the process has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Stop ends all programs, last started first, and prevents further starts.
func (ps *Group) Stop() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.stopped = true
	for _, p := range slices.Backward(ps.running) {
		p.end()
		_ = os.Remove(filepath.Join(ps.Dir, "pids", p.name))
	}
	ps.running = nil
}

// Failed returns an error for a process that ended unexpectedly, with the end of its log.
func (ps *Group) Failed() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return errors.New("the group was stopped")
	}
	for _, p := range ps.running {
		if p.HasEnded() && !p.mayEnd {
			return fmt.Errorf("%s has ended (%s); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, Tail(p.log, 12))
		}
	}
	return nil
}

// Logs returns the last lines of some processes' logs, for an error message.
func (ps *Group) Logs(lines int, names ...string) string {
	var out strings.Builder
	for _, name := range names {
		log := filepath.Join(ps.Dir, "logs", name+".log")
		fmt.Fprintf(&out, "\nThe end of %s:\n%s\n", log, Tail(log, lines))
	}
	return out.String()
}

// Tail returns the last lines of a file, each truncated to a readable length.
func Tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	const longest = 600
	for i, l := range all {
		if len(l) > longest {
			all[i] = append(slices.Clone(l[:longest]), "…"...)
		}
	}
	return "  " + string(bytes.Join(all, []byte("\n  ")))
}

// Sweep kills the processes of an earlier group in this folder that were not stopped.
func Sweep(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, "pids"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(dir, "pids", e.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err == nil && pid > 1 && startedFrom(ctx, dir, pid) {
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
				return fmt.Errorf("cannot end process %d (%s), which an earlier run left: %w", pid, e.Name(), err)
			}
			for range 50 {
				if !startedFrom(ctx, dir, pid) {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// startedFrom reports whether a process was started from a folder's bin, since its ID may have been reused.
func startedFrom(ctx context.Context, dir string, pid int) bool {
	out, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(string(out), filepath.Join(dir, "bin")+"/")
}
