package platform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage returns the CPU time and the resident memory (bytes) of a process of the platform, by the name of its log.
func (p *Platform) Usage(name string) (cpu time.Duration, memory int64, err error) {
	pid, err := os.ReadFile(filepath.Join(p.Dir, "pids", name))
	if err != nil {
		return 0, 0, err
	}
	stat, err := os.ReadFile(filepath.Join("/proc", string(pid), "stat"))
	if err != nil {
		return 0, 0, err
	}
	// Fields 14, 15 and 24 of proc(5), counted after the name, which may hold spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime, rss, tick = 11, 12, 21, 10 * time.Millisecond
	if len(fields) <= rss {
		return 0, 0, fmt.Errorf("cannot read the resource usage of process %s", name)
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	return time.Duration(number(utime)+number(stime)) * tick, number(rss) * int64(os.Getpagesize()), nil
}
