//go:build linux

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processes are the programs that run here. They end with the machine at the latest.
type processes struct {
	bin, logs string

	mu      sync.Mutex
	running []*process
	stopped bool
}

type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a program, for as long as the node runs. A name with a slash is one of the machine.
func (ps *processes) start(name string, args ...string) error {
	program := filepath.Base(name)
	path := name
	if program == name {
		path = filepath.Join(ps.bin, name)
	}
	log, err := os.Create(filepath.Join(ps.logs, program+".log"))
	if err != nil {
		return err
	}
	p := &process{name: program, cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // it ends when it is told to
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Memory is there for a while, processors are not.
	p.cmd.Env = append(os.Environ(), "GOGC=300", "PATH="+ps.bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", program, errors.Join(err, log.Close()))
	}
	go func() {
		_ = p.cmd.Wait() // its log says more than its exit code
		_ = log.Close()
		close(p.done)
	}()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.running = append(ps.running, p)
	return nil
}

// stop ends everything, last started first.
func (ps *processes) stop() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.stopped = true
	for _, p := range slices.Backward(ps.running) {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	ps.running = nil
}

// failed tells of a process that has ended, with the end of its log.
func (ps *processes) failed() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stopped {
		return errors.New("the node was stopped")
	}
	for _, p := range ps.running {
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended (%s); the end of its log:\n%s", p.name, p.cmd.ProcessState, ps.tail(p.name))
		default:
		}
	}
	return nil
}

// tail is the end of a program's log.
func (ps *processes) tail(name string) string {
	const lines, length = 12, 400
	data, err := os.ReadFile(filepath.Join(ps.logs, name+".log"))
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var out strings.Builder
	for _, line := range all[max(len(all)-lines, 0):] {
		fmt.Fprintf(&out, "  %s\n", line[:min(len(line), length)])
	}
	return out.String()
}

// wait asks until the answer is yes. Its error says what was awaited and what stood in the way last.
func (ps *processes) wait(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	const pause = 200 * time.Millisecond
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		if failed := ps.failed(); failed != nil {
			return fmt.Errorf("cannot wait for %s: %w", what, failed)
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%s did not come in time: %w", what, err)
		case <-time.After(pause):
		}
	}
}
