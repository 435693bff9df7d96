//go:build unix

package crds

import (
	"os"
	"syscall"
)

// lock waits until no other process holds the file; a process that dies lets go of it.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close() //nolint:errcheck,gosec // the lock's error is the one to tell
		return nil, err
	}
	return func() { f.Close() }, nil //nolint:errcheck,gosec // closing lets go of the lock
}
