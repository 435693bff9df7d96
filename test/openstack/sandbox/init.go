//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// message is the input of a container's start.
type message struct {
	Spec Spec
	// Root is an empty folder.
	Root string
}

// contain turns this process into the container. It returns only on an error.
func contain() error {
	runtime.LockOSThread() // thread attributes have to belong to the thread that becomes the program
	pipe := os.NewFile(3, "specification")
	m := message{}
	if err := json.NewDecoder(pipe).Decode(&m); err != nil { //nolint:musttag // between two of this program
		return fmt.Errorf("cannot read the specification: %w", err)
	}
	if err := pipe.Close(); err != nil {
		return err
	}
	for _, step := range []func(message) error{network, root, privileges} {
		if err := step(m); err != nil {
			return err
		}
	}
	s := m.Spec
	if err := os.Chdir(filepath.Join("/", s.Dir)); err != nil {
		return err
	}
	if len(s.Args) == 0 {
		reap()
	}
	os.Clearenv()
	for _, e := range s.Env {
		if name, value, ok := strings.Cut(e, "="); ok && name == "PATH" {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	program, err := exec.LookPath(s.Args[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("cannot run %s: %w", program, unix.Exec(program, s.Args, s.Env))
}

// reap waits for every orphaned process, forever.
func reap() {
	finished := make(chan os.Signal, 1)
	signal.Notify(finished, unix.SIGCHLD)
	for range finished {
		for pid, err := 1, error(nil); pid > 0 || errors.Is(err, unix.EINTR); {
			pid, err = unix.Wait4(-1, nil, unix.WNOHANG, nil)
		}
	}
}

func network(m message) error {
	if m.Spec.Network != 0 {
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", m.Spec.Network))
		if err != nil {
			return fmt.Errorf("cannot find the network to share: %w", err)
		}
		return errors.Join(unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET), ns.Close(), unix.Sethostname([]byte(m.Spec.Name)))
	}
	err := errors.Join(unix.Sethostname([]byte(m.Spec.Name)), ip("link", "set", "lo", "up"))
	if m.Spec.Address == "" {
		return err
	}
	hardware, parseErr := hardwareAddress(m.Spec.Address)
	return errors.Join(err, parseErr,
		ip("link", "set", "eth0", "address", hardware),
		ip(add(m.Spec.Address, bits(), "eth0")...),
		ip("link", "set", "eth0", "up"),
		ip("route", "add", "default", "via", Gateway()),
	)
}

// devices that every container has.
var devices = []string{"null", "zero", "full", "random", "tty", "urandom"}

// readOnly are the parts of /proc by which the machine itself would be changed
// (https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#readonly-paths, as Kubernetes' runtimes have it).
var readOnly = []string{"bus", "fs", "irq", "sys", "sysrq-trigger"}

// root builds the root file system and moves into it.
func root(m message) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make mounts private: %w", err)
	}
	if err := unix.Mount("root", m.Root, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("cannot make a root: %w", err)
	}
	in := func(path string) string { return filepath.Join(m.Root, path) }
	if !m.Spec.Privileged {
		if err := system(in); err != nil {
			return err
		}
	}
	for _, mount := range m.Spec.allMounts() {
		if err := mount.into(m.Root); err != nil {
			return err
		}
	}
	for _, l := range m.Spec.allLinks() {
		if _, err := os.Lstat(in(l.Path)); err == nil {
			continue // a mount exists
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(in(l.Path)), 0o755), os.Symlink(l.Target, in(l.Path))); err != nil {
			return fmt.Errorf("cannot link %s: %w", l.Path, err)
		}
	}
	if err := errors.Join(os.MkdirAll(in("/old"), 0o755), processes(in, m.Spec.Privileged)); err != nil {
		return err
	}
	if err := unix.PivotRoot(m.Root, in("/old")); err != nil {
		return fmt.Errorf("cannot move to the new root: %w", err)
	}
	if err := errors.Join(os.Chdir("/"), unix.Unmount("/old", unix.MNT_DETACH), os.Remove("/old")); err != nil {
		return fmt.Errorf("cannot leave the old root: %w", err)
	}
	if m.Spec.Writable {
		return nil
	}
	return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID, "")
}

// allMounts returns the mounts of a container and the common ones, in the order in which they are mounted.
func (s *Spec) allMounts() []Mount {
	// Shorter targets first: a mount hides earlier mounts below it.
	mounts := slices.Clone(s.Mounts)
	slices.SortStableFunc(mounts, func(a, b Mount) int {
		return strings.Count(filepath.Clean(a.Target), "/") - strings.Count(filepath.Clean(b.Target), "/")
	})
	if s.Privileged {
		mounts = append([]Mount{{Source: "/dev", Target: "/dev", Writable: true}, {Source: "/sys", Target: "/sys", Writable: true}}, mounts...)
	} else {
		for _, d := range devices {
			mounts = append(mounts, Mount{Source: "/dev/" + d, Target: "/dev/" + d, Writable: true})
		}
	}
	return append(mounts, Mount{Target: "/dev/shm", Writable: true})
}

// allLinks returns the links of a container, and the common ones if it does not have the machine's devices.
func (s *Spec) allLinks() []Link {
	links := slices.Clone(s.Links)
	if s.Privileged {
		return links
	}
	return append(links, Link{Target: "pts/ptmx", Path: "/dev/ptmx"},
		Link{Target: "/proc/self/fd", Path: "/dev/fd"}, Link{Target: "/proc/self/fd/0", Path: "/dev/stdin"},
		Link{Target: "/proc/self/fd/1", Path: "/dev/stdout"}, Link{Target: "/proc/self/fd/2", Path: "/dev/stderr"})
}

// processes mounts /proc, with read-only parts.
func processes(in func(string) string, privileged bool) error {
	if err := os.MkdirAll(in("/proc"), 0o755); err != nil {
		return err
	}
	if err := unix.Mount("proc", in("/proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	for _, d := range readOnly {
		path := in("/proc/" + d)
		if _, err := os.Stat(path); err != nil || privileged { // not every kernel has all of them
			continue
		}
		if err := errors.Join(
			unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""),
			unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
		); err != nil {
			return fmt.Errorf("cannot make %s read-only: %w", path, err)
		}
	}
	return nil
}

// system mounts the kernel's read-only files about devices and networks, and private terminals.
func system(in func(string) string) error {
	for _, d := range []string{"/sys", "/dev/pts"} {
		if err := os.MkdirAll(in(d), 0o755); err != nil {
			return err
		}
	}
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	if err := unix.Mount("sysfs", in("/sys"), "sysfs", flags|unix.MS_NODEV|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("cannot mount /sys: %w", err)
	}
	if err := unix.Mount("devpts", in("/dev/pts"), "devpts", flags, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("cannot mount /dev/pts: %w", err)
	}
	return nil
}

// into mounts below a root.
func (m Mount) into(root string) error {
	target := filepath.Join(root, m.Target)
	if m.Source == "" {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return unix.Mount("scratch", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	}
	info, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("cannot mount at %s: %w", m.Target, err)
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = touch(target)
	}
	if err != nil {
		return fmt.Errorf("cannot make a place for %s: %w", m.Target, err)
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", m.Source, m.Target, err)
	}
	if m.Writable {
		return nil
	}
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("cannot make %s read-only: %w", m.Target, err)
	}
	return nil
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// capabilities by name, as Kubernetes writes them.
var capabilities = map[string]uintptr{
	"CHOWN": unix.CAP_CHOWN, "DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH,
	"FOWNER": unix.CAP_FOWNER, "KILL": unix.CAP_KILL, "SETPCAP": unix.CAP_SETPCAP,
	"IPC_LOCK": unix.CAP_IPC_LOCK, "NET_ADMIN": unix.CAP_NET_ADMIN, "NET_BIND_SERVICE": unix.CAP_NET_BIND_SERVICE,
	"NET_RAW": unix.CAP_NET_RAW, "SETGID": unix.CAP_SETGID, "SETUID": unix.CAP_SETUID, "SYS_ADMIN": unix.CAP_SYS_ADMIN,
	"SYS_CHROOT": unix.CAP_SYS_CHROOT, "SYS_MODULE": unix.CAP_SYS_MODULE, "SYS_NICE": unix.CAP_SYS_NICE,
	"SYS_PTRACE": unix.CAP_SYS_PTRACE, "SYS_RESOURCE": unix.CAP_SYS_RESOURCE, "SYS_TIME": unix.CAP_SYS_TIME,
}

// privileges drops everything that the container must not have: every other capability, including those that a program
// could gain, and the user root.
func privileges(m message) error {
	s := m.Spec
	if !s.Privileged {
		if err := keep(s.Capabilities); err != nil {
			return err
		}
	}
	if !s.Escalates && !s.Privileged {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("cannot refuse new privileges: %w", err)
		}
	}
	// A program may open /dev/stderr, so that the container's user has to own it, as with container runtimes.
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() { // devices are accessible to every user
			continue
		}
		if err := f.Chown(s.UserID, s.GroupID); err != nil {
			return fmt.Errorf("cannot give it its output: %w", err)
		}
	}
	if err := unix.Setgroups(s.Groups); err != nil {
		return fmt.Errorf("cannot set groups: %w", err)
	}
	if err := unix.Setresgid(s.GroupID, s.GroupID, s.GroupID); err != nil {
		return fmt.Errorf("cannot become group %d: %w", s.GroupID, err)
	}
	if err := unix.Setresuid(s.UserID, s.UserID, s.UserID); err != nil {
		return fmt.Errorf("cannot become user %d: %w", s.UserID, err)
	}
	return nil
}

// keep drops all capabilities except some.
func keep(names []string) error {
	retained := map[uintptr]bool{}
	for _, name := range names {
		c, ok := capabilities[name]
		if !ok {
			return fmt.Errorf("capability %s is not known here", name)
		}
		retained[c] = true
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if retained[c] {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("cannot drop capability %d: %w", c, err)
		}
	}
	return nil
}
