package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

// lockName is the lock file of the process that runs a platform, with its process ID. The lock is released when the
// process ends, however it ends.
const lockName = "lock"

// occupy takes a folder for a new platform and removes the files of an earlier one. The lock is held until the file is
// closed.
func occupy(ctx context.Context, dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the platform's folder: %w", err)
	}
	path := filepath.Join(dir, lockName)
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid, _ := io.ReadAll(lock)
		_ = lock.Close()
		return nil, fmt.Errorf("a platform runs in %s already (process %s); stop it first, for example with make demo-down", dir, pid)
	}
	if err := empty(ctx, dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := lock.Truncate(0); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return lock, err
}

// empty ends the processes of an earlier platform, and removes its files.
func empty(ctx context.Context, dir string) error {
	if err := process.Sweep(ctx, dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Down stops the platform in a folder from another process, and removes its files. It reports whether one was running.
func Down(ctx context.Context, dir string) (bool, error) {
	path := filepath.Join(dir, lockName)
	lock, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	free := func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }
	running := !free()
	if running {
		data, err := io.ReadAll(lock)
		if err != nil {
			return true, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			return true, fmt.Errorf("%s contains no process ID of a platform: %w", path, err)
		}
		if err := end(pid, free); err != nil {
			return true, err
		}
	}
	if err := empty(ctx, dir); err != nil {
		return running, err
	}
	return running, os.RemoveAll(dir)
}

// end terminates a process, and kills it if it does not exit.
func end(pid int, finished func() bool) error {
	const grace, pause = 20 * time.Second, 100 * time.Millisecond
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cannot stop process %d, which runs the platform: %w", pid, err)
		}
		for waited := time.Duration(0); waited < grace; waited += pause {
			if finished() {
				return nil
			}
			time.Sleep(pause)
		}
	}
	return fmt.Errorf("process %d, which runs the platform, does not end", pid)
}
