package platform

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

// processes are the programs that run for a platform. Everything of theirs is below one folder:
//
//	bin/    the programs, as symbolic links: a process is recognised as ours by the path that it was started with
//	logs/   what each of them writes
//	pids/   the process id of each
//
// They end with the process that started them, however it ends: on Linux the kernel sees to that, elsewhere the next start does.
type processes struct {
	dir string

	mu      sync.Mutex
	running []*process
	stopped bool
}

// process is one program that runs.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	mayEnd bool          // that it ends is nobody's failure
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

// link makes a program known by a name.
func (ps *processes) link(name, path string) error {
	link := filepath.Join(ps.dir, "bin", name)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(path, link)
}

// command is a program that was linked, with arguments and additional environment.
func (ps *processes) command(ctx context.Context, program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(ps.dir, "bin", program), args...)
	cmd.Env = append(append(os.Environ(), "GOGC=300"), env...) // memory is there for a while, processors are not
	cmd.Dir = ps.dir
	return cmd
}

// start starts a program that was linked, for as long as the platform runs; name is that of its log.
func (ps *processes) start(name, program string, env []string, args ...string) error {
	p, err := ps.launch(name, program, env, args...)
	if err == nil {
		ps.mu.Lock()
		p.mayEnd = false
		ps.mu.Unlock()
	}
	return err
}

// launch starts a program that was linked and that may end before the platform does; name is that of its log.
func (ps *processes) launch(name, program string, env []string, args ...string) (*process, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return nil, fmt.Errorf("cannot start %s: the platform is being stopped", name)
	}
	for _, d := range []string{"logs", "pids"} {
		if err := os.MkdirAll(filepath.Join(ps.dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	p := &process{name: name, log: filepath.Join(ps.dir, "logs", name+".log"), mayEnd: true, done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	// The end of the process is our business, not that of a context that may be shorter.
	p.cmd = ps.command(context.Background(), program, env, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes()
	failed := make(chan error)
	starter() <- func() { failed <- p.cmd.Start() }
	if err := <-failed; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, errors.Join(err, log.Close()))
	}
	go func() {
		_ = p.cmd.Wait() // its log says more than its exit code
		_ = log.Close()
		close(p.done)
	}()
	ps.running = append(ps.running, p)
	return p, os.WriteFile(filepath.Join(ps.dir, "pids", name), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0o644)
}

// forget is what follows the end of a process that may end; nil is none.
func (ps *processes) forget(p *process) {
	if p == nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.running = slices.DeleteFunc(ps.running, func(r *process) bool { return r == p })
	_ = os.Remove(filepath.Join(ps.dir, "pids", p.name))
}

// end kills a process with everything that it started, and waits until it is gone. What it holds is thrown away, so nothing is
// lost by being quick.
func (p *process) end() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends a signal to a process and everything that it started, unless it has ended: its number may be another's then.
func (p *process) signal(s syscall.Signal) {
	if !p.hasEnded() {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stopAll ends everything, last started first, and lets nothing start any more.
func (ps *processes) stopAll() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.stopped = true
	for _, p := range slices.Backward(ps.running) {
		p.end()
		_ = os.Remove(filepath.Join(ps.dir, "pids", p.name))
	}
	ps.running = nil
}

// failed tells of a process that has ended although it should not, with the end of its log.
func (ps *processes) failed() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return errors.New("the platform was stopped")
	}
	for _, p := range ps.running {
		if p.hasEnded() && !p.mayEnd {
			return fmt.Errorf("%s has ended (%s); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, tail(p.log, 12))
		}
	}
	return nil
}

// logs are the ends of the logs of some processes, for an error message.
func (ps *processes) logs(lines int, names ...string) string {
	var out strings.Builder
	for _, name := range names {
		log := filepath.Join(ps.dir, "logs", name+".log")
		fmt.Fprintf(&out, "\nThe end of %s:\n%s\n", log, tail(log, lines))
	}
	return out.String()
}

// tail are the last lines of a file, each cut at a length that can be read.
func tail(path string, lines int) string {
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

// sweep ends what an earlier platform in this folder left running, where whoever started it could not.
func sweep(ctx context.Context, dir string) error {
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
				return fmt.Errorf("cannot end process %d (%s), which an earlier platform left: %w", pid, e.Name(), err)
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

// startedFrom tells whether a process was started from a folder's bin, since its number may long be another's.
func startedFrom(ctx context.Context, dir string, pid int) bool {
	out, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(string(out), filepath.Join(dir, "bin")+"/")
}
