package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// interval is the time between two looks at the running tests, and so the most that a measurement misses of a process, for each
// processor that it uses.
const interval = 50 * time.Millisecond

// ticks is the number of units of processor time in /proc for each second. The kernel reports 100 on every architecture of Go.
const ticks = 100

// cpu measures the processor time of test binaries, user and system, including children that they waited for. It reads /proc instead of
// wrapping the binaries (go test -exec), because go test does not cache the results of wrapped binaries.
type cpu struct {
	mu sync.Mutex
	// used is the processor time of each process in ticks.
	used map[process]int64
}

// process is a test binary that runs in the folder of its package.
type process struct {
	pid, started int64
	dir          string
}

// watch measures the test binaries that a go command starts, until stop is called. It does nothing where there is no /proc.
func (c *cpu) watch(command int) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for ticker := time.NewTicker(interval); ; {
			c.look("/proc", command)
			select {
			case <-done:
				ticker.Stop()
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// look reads the processor time of the command's children that are test binaries.
func (c *cpu) look(proc string, command int) {
	lists, err := filepath.Glob(filepath.Join(proc, strconv.Itoa(command), "task", "*", "children"))
	if err != nil {
		return
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(children)) {
			folder := filepath.Join(proc, child)
			// The processor time is read last: a process that runs another program meanwhile is not counted as a test.
			program, err := os.Readlink(filepath.Join(folder, "exe"))
			if err != nil || !strings.HasSuffix(strings.TrimSuffix(program, " (deleted)"), ".test") {
				continue
			}
			dir, err := os.Readlink(filepath.Join(folder, "cwd"))
			if err != nil {
				continue
			}
			stat, err := os.ReadFile(filepath.Join(folder, "stat"))
			if err != nil {
				continue
			}
			used, started, ok := parseStat(string(stat))
			if pid, err := strconv.ParseInt(child, 10, 64); ok && err == nil {
				c.add(process{pid: pid, started: started, dir: dir}, used)
			}
		}
	}
}

// add keeps the greatest processor time that was seen of a process.
func (c *cpu) add(p process, used int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[process]int64{}
	}
	c.used[p] = max(c.used[p], used)
}

// seconds returns the processor time of the tests that ran in a folder, and whether one was seen.
func (c *cpu) seconds(dir string) (float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total, seen := int64(0), false
	for p, used := range c.used {
		if p.dir == dir {
			total, seen = total+used, true
		}
	}
	return float64(total) / ticks, seen
}

// parseStat returns the processor time and the start of a process, both in ticks, from /proc/PID/stat (see proc_pid_stat(5)).
func parseStat(stat string) (used, started int64, ok bool) {
	// The second field is the name of the program in parentheses, which may contain spaces and parentheses.
	_, rest, ok := strings.Cut(stat[max(0, strings.LastIndexByte(stat, ')')):], " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, 0, false
	}
	for i, f := range fields {
		if i >= 11 && i <= 14 || i == 19 { // utime, stime, cutime, cstime; starttime
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, 0, false
			}
			if i == 19 {
				started = n
			} else {
				used += n
			}
		}
	}
	return used, started, true
}
