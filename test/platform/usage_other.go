//go:build !linux

package platform

import (
	"errors"
	"time"
)

// Usage is only available on Linux.
func (*Platform) Usage(string) (cpu time.Duration, memory int64, err error) {
	return 0, 0, errors.New("the resource usage of a process is only available on Linux")
}
