//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Container is a running process.
type Container struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	root string
}

// starter starts every process: the kernel ends a child together with the *thread* that started it, so that has to be one that
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

func start(cmd *exec.Cmd) error { return startAmong(cmd, 0) }

// startAmong starts a process in the PID namespace of another one, whose ID is given; 0: in the namespace of this
// process.
func startAmong(cmd *exec.Cmd, pid int) error {
	failed := make(chan error)
	starter() <- func() {
		if pid == 0 {
			failed <- cmd.Start()
			return
		}
		// It is children of the thread that are affected.
		err := enterProcesses(fmt.Sprintf("/proc/%d/ns/pid", pid))
		if err == nil {
			err = errors.Join(cmd.Start(), enterProcesses("/proc/self/ns/pid"))
		}
		failed <- err
	}
	return <-failed
}

func enterProcesses(namespace string) error {
	ns, err := os.Open(namespace)
	if err != nil {
		return fmt.Errorf("cannot find the processes to join: %w", err)
	}
	return errors.Join(unix.Setns(int(ns.Fd()), unix.CLONE_NEWPID), ns.Close())
}

// links numbers the network links of containers.
var links atomic.Int64

// Start starts a container whose output is written to a file. An error is an error of the setup; an error of the
// program is its exit code.
func Start(s Spec, log *os.File) (*Container, error) {
	root, err := os.MkdirTemp("", "sandbox-")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(message{Spec: s, Root: root}) //nolint:musttag // between two of this program
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()                   //nolint:errcheck // a pipe
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // Stop ends it
	cmd.Args[0] = "container-" + s.Name
	cmd.Env = []string{roleEnv + "=" + roleContainer, "PATH=" + os.Getenv("PATH"), FamilyEnv + "=" + os.Getenv(FamilyEnv)}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{read}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
		// It leads a session and a process group, as with every container runtime: programs that look up their group
		// find it in /proc.
		Setsid: true,
	}
	if s.Network == 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	if s.Processes != 0 {
		cmd.SysProcAttr.Cloneflags &^= syscall.CLONE_NEWPID
		// In another PID namespace a process does not see its parent, and treats it as dead. The end of the sandbox
		// ends all its processes anyway.
		cmd.SysProcAttr.Pdeathsig = 0
	}
	if err := errors.Join(startAmong(cmd, s.Processes), read.Close()); err != nil {
		return nil, fmt.Errorf("cannot start container %s: %w", s.Name, err)
	}
	c := &Container{spec: s, cmd: cmd, done: make(chan struct{}), root: root}
	if s.Network == 0 && s.Address != "" {
		err = c.connect()
	}
	if s.ControlGroup != "" {
		err = errors.Join(err, JoinGroup(s.ControlGroup, cmd.Process.Pid))
	}
	// The container waits for its specification, and with it for its link.
	if _, e := write.Write(text); err == nil {
		err = e
	}
	go func() {
		_ = cmd.Wait() // its exit code is read later
		if s.ControlGroup != "" {
			endGroup(s.ControlGroup)
		}
		_ = os.RemoveAll(root)
		close(c.done)
	}()
	if err != nil {
		c.Kill()
		return nil, fmt.Errorf("cannot start container %s: %w", s.Name, err)
	}
	return c, nil
}

// connect moves one end of a link into the container's network, and adds the other one to the bridge.
func (c *Container) connect() error {
	link := "veth" + strconv.FormatInt(links.Add(1), 10)
	return errors.Join(
		ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(c.cmd.Process.Pid)),
		ip("link", "set", link, "master", bridge, "up"),
	)
}

// Link adds an interface with a name to the container. The other end is in the sandbox; its name is returned.
func (c *Container) Link(name string) (other string, err error) {
	other = "veth" + strconv.FormatInt(links.Add(1), 10)
	pid := strconv.Itoa(c.cmd.Process.Pid)
	return other, errors.Join(
		ip("link", "add", other, "type", "veth", "peer", "name", name, "netns", pid), ip("link", "set", other, "up"),
		// The kernel assumes that the other end of a link accepts packets without a checksum: programs other than the
		// kernel drop them.
		run("ethtool", "-K", other, "tx", "off"), run("nsenter", "--target", pid, "--net", "ethtool", "-K", name, "tx", "off"),
		run("nsenter", "--target", pid, "--net", "ip", "link", "set", name, "up"),
	)
}

// Done returns a channel that is closed when the container has ended.
func (c *Container) Done() <-chan struct{} { return c.done }

// Running reports whether the container has not ended.
func (c *Container) Running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// ExitCode returns the exit code of a container that has ended: 128 plus the signal's number after a signal.
func (c *Container) ExitCode() int {
	<-c.done
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// Exec runs an additional program in the container, as its user and with its environment, and returns its output. It is
// killed when the context ends.
func (c *Container) Exec(ctx context.Context, args ...string) ([]byte, error) {
	groups := "--clear-groups"
	if len(c.spec.Groups) > 0 {
		var ids []string
		for _, g := range c.spec.Groups {
			ids = append(ids, strconv.Itoa(g))
		}
		groups = "--groups=" + strings.Join(ids, ",")
	}
	enter := []string{
		"--target", strconv.Itoa(c.PID()), "--mount", "--net", "--pid", "--ipc", "--uts", "--wdns=" + filepath.Join("/", c.spec.Dir), "--",
		"/usr/bin/setpriv", "--reuid", strconv.Itoa(c.spec.UserID), "--regid", strconv.Itoa(c.spec.GroupID), groups, "--",
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = c.spec.Env
	// A process that enters a PID namespace leaves a child there, which ends with the group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.CombinedOutput()
}

// Stop terminates the container's first process, and kills it after a time. It reports whether it ended without being
// killed.
func (c *Container) Stop(grace time.Duration) bool {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return true
	case <-time.After(grace):
		c.Kill()
		return false
	}
}

// Kill kills the container, and waits until it has ended.
func (c *Container) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// PID returns the ID of the container's first process, in this process's PID namespace.
func (c *Container) PID() int { return c.cmd.Process.Pid }
