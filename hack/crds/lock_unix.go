//go:build unix

package crds

import (
	"os"
	"syscall"
)

// lock waits until no other process holds the file; the lock of a process that exits is released.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close() //nolint:errcheck,gosec // The error of the lock is returned.
		return nil, err
	}
	return func() { f.Close() }, nil //nolint:errcheck,gosec // Closing the file releases the lock.
}
