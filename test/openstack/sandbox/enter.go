//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Variables by which a re-executed program detects its role.
const (
	roleEnv       = "COBALTCORE_SANDBOX"
	roleContainer = "container"
	roleFirst     = "first"
	roleMachine   = "machine"
)

// bridge is the network of all containers.
const bridge = "cobaltcore0"

// Main runs the role of this process if it is the start of a container, or the first process of a sandbox; it then does
// not return. Call it first.
func Main() {
	switch os.Getenv(roleEnv) {
	case roleContainer:
		err := contain() // returns only if it fails
		fmt.Fprintln(os.Stderr, "cannot start the container:", err)
		os.Exit(125)
	case roleFirst:
		code, err := first()
		if err != nil {
			fmt.Fprintln(os.Stderr, "cannot be a machine:", err)
		}
		os.Exit(code)
	}
}

// Entered reports whether this process is in a sandbox.
func Entered() bool { return os.Getenv(roleEnv) == roleMachine }

// Enter runs this program again, with the same arguments, in a sandbox: its processes, mounts, addresses and host names
// are not visible outside, and the kernel ends all of it with its first process. It returns the exit code of that
// process. started is called with the process's ID; it may be nil.
func Enter(started func(pid int)) (int, error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("creating network, mount and process namespaces requires root; run it with sudo, or in a privileged container")
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:gosec,noctx // itself, until it ends
	cmd.Args[0] = os.Args[0]
	group := fmt.Sprintf("cobaltcore-%d", os.Getpid())
	defer RemoveGroup(group)
	cmd.Env = append(os.Environ(), roleEnv+"="+roleFirst, groupEnv+"="+group)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := start(cmd); err != nil {
		return 0, fmt.Errorf("cannot create namespaces: %w", err)
	}
	if started != nil {
		started(cmd.Process.Pid)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// first runs as the first process of a sandbox. It runs this program once more, forwards signals to it, and ends with
// it. Until then it reaps all orphaned processes: a process whose parent has ended would stay as a zombie, and libvirt
// could not end a server that has outlived its pod.
func first() (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:gosec,noctx // itself, until it ends
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), roleEnv+"="+roleMachine)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		return 125, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 125, fmt.Errorf("cannot wait for it: %w", err)
		case pid == cmd.Process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == cmd.Process.Pid:
			return 128 + int(status.Signal()), nil
		}
	}
}

// Hosts is the file with the names of the machine and all of its containers.
const Hosts = "/etc/hosts"

// Prepare sets up the sandbox: its view of processes, its hosts file, and the bridge.
func Prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	// Private files are in memory, and are removed with the sandbox.
	const run, hosts = "/run", "/run/hosts"
	if err := unix.Mount("run", run, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("cannot mount private files: %w", err)
	}
	if err := os.Setenv("TMPDIR", run); err != nil {
		return err
	}
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(hosts, Hosts, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot mount a private hosts file: %w", err)
	}
	return errors.Join(
		ip("link", "set", "lo", "up"),
		// A fixed MAC address: otherwise the bridge uses and changes to the addresses of its ports, and containers lose
		// it for a minute.
		ip("link", "add", bridge, "address", "02:00:0a:f4:00:01", "type", "bridge"),
		ip(add(Gateway(), bits(), bridge)...),
		ip("link", "set", bridge, "up"),
	)
}

// AddAddress adds an address to the sandbox.
func AddAddress(address string) error {
	if IPv6 {
		return ip(add(address, "128", bridge)...)
	}
	return ip(add(address, "32", bridge)...)
}

// AddNetwork sets the address of an interface of the sandbox, with its prefix length: 203.0.113.1/24.
func AddNetwork(link, address string) error { return ip("addr", "add", address, "dev", link) }

// bridges numbers the bridges of the machine.
var bridges atomic.Int64

// NewBridge adds a bridge without checksum offloading to the sandbox, and returns its name.
func NewBridge() (string, error) {
	name := fmt.Sprintf("bridge%d", bridges.Add(1))
	return name, errors.Join(
		ip("link", "add", name, "type", "bridge"), run("ethtool", "-K", name, "tx", "off"), ip("link", "set", name, "up"),
	)
}

// RemoveBridge removes a bridge, with its addresses.
func RemoveBridge(name string) error { return ip("link", "del", name) }

// Join adds an interface of the sandbox to a bridge.
func Join(link, bridge string) error { return ip("link", "set", link, "master", bridge) }

// ip configures the network with iproute2.
func ip(args ...string) error { return run("ip", args...) }

func run(program string, args ...string) error {
	out, err := exec.Command(program, args...).CombinedOutput() //nolint:noctx // short
	if err != nil {
		return fmt.Errorf("cannot set up the network (%s %v): %w: %s", program, args, err, out)
	}
	return nil
}
