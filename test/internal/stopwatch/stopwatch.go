// Package stopwatch measures how long a test has waited for other processes, in seconds of a machine that runs nothing else. Limits in
// seconds of a clock fail on a busy machine, although every process works: with eight processes for each processor, an operation takes
// eight times as long.
package stopwatch

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// interval is the interval in which the load is read.
const interval = time.Second

// measured are the measurements of this process. The first call starts them.
var measured = sync.OnceValue(func() *history {
	h := &history{}
	h.add(time.Now(), slowdown(loadavg(), runtime.NumCPU()))
	go func() {
		for now := range time.Tick(interval) {
			h.add(now, slowdown(loadavg(), runtime.NumCPU()))
		}
	}()
	return h
})

// Since returns the time since a moment, without the part that the load of this machine adds. It is never longer than time.Since.
func Since(began time.Time) time.Duration { return measured().between(began, time.Now()) }

// WithTimeout returns a context that ends after a time. Its error is then context.Canceled, and its cause context.DeadlineExceeded.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	h, began := measured(), time.Now()
	go func() {
		ticker := time.NewTicker(min(interval, max(d/10, time.Millisecond)))
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				if h.between(began, now) >= d {
					cancel(fmt.Errorf("%s, without the time that the load of this machine adds: %w", d, context.DeadlineExceeded))
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// history is the load since the first measurement.
type history struct {
	mu sync.Mutex
	// each has a measurement, in the order of their times.
	each []measurement
}

// A measurement applies until the next one.
type measurement struct {
	at time.Time
	// spent is the time since the first measurement, without the part that the load added.
	spent time.Duration
	// slow is the factor by which the machine is slower than one that runs nothing else.
	slow float64
}

func (h *history) add(now time.Time, slow float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each = append(h.each, measurement{at: now, spent: h.spent(now), slow: slow})
}

func (h *history) between(from, to time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spent(to) - h.spent(from)
}

// spent returns the time from the first measurement to a moment. Before it, there is no load.
func (h *history) spent(at time.Time) time.Duration {
	if len(h.each) == 0 {
		return 0
	}
	next := sort.Search(len(h.each), func(i int) bool { return h.each[i].at.After(at) })
	if next == 0 {
		return at.Sub(h.each[0].at)
	}
	m := h.each[next-1]
	return m.spent + time.Duration(float64(at.Sub(m.at))/m.slow)
}

// slowdown returns the factor by which a machine is slower than one that runs nothing else: the number of processes that run, await a
// processor or wait for a disk, for each processor. The kernel's average over a minute does not follow sudden load, and the current number
// varies: the larger of both decides. A text in an unexpected format is no load.
func slowdown(loadavg string, processors int) float64 {
	fields := strings.Fields(loadavg)
	if len(fields) < 4 {
		return 1
	}
	slow := 1.0
	running, _, _ := strings.Cut(fields[3], "/")
	for _, number := range []string{fields[0], running} {
		if load, err := strconv.ParseFloat(number, 64); err == nil {
			slow = max(slow, load/float64(processors))
		}
	}
	return slow
}

// loadavg returns the kernel's description of the load (proc_loadavg(5)), or nothing on a system without it.
func loadavg() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return string(text)
}
