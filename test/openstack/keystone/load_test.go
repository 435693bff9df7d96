//go:build openstack && linux

package keystone

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// A Load repeatedly requests tokens of a cloud and validates them, and counts failures.
type Load struct {
	// Issued and Validated tokens.
	Issued, Validated atomic.Int64

	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	errs   []error
	tokens []string // the oldest first
}

// retained is the number of tokens under test, from all times since the start.
const retained = 200

// NewLoad starts clients that issue tokens and validate those of all clients, old and new.
func NewLoad(ctx context.Context, c *clouds.Client, clients int) *Load {
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{cancel: cancel}
	for i := range clients {
		l.done.Go(func() { l.run(ctx, c, i) })
	}
	return l
}

func (l *Load) run(ctx context.Context, c *clouds.Client, i int) {
	const pause = 50 * time.Millisecond
	for n := i; ctx.Err() == nil; n++ {
		token, err := c.Issue(ctx, c.Admin)
		if l.count(ctx, &l.Issued, "issue a token", err) {
			l.keep(token)
		}
		if old := l.pick(n); old != "" {
			_, err := c.Validate(ctx, token, old)
			l.count(ctx, &l.Validated, "validate a token", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// count records the end of a request; a request that was canceled at the end of the load does not count.
func (l *Load) count(ctx context.Context, counter *atomic.Int64, label string, err error) bool {
	if err == nil {
		counter.Add(1)
		return true
	}
	if ctx.Err() == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errs = append(l.errs, fmt.Errorf("%s: cannot %s: %w", time.Now().Format(time.TimeOnly), label, err))
	}
	return false
}

// keep stores a token; the very first ones stay forever.
func (l *Load) keep(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens = append(l.tokens, token); len(l.tokens) > retained {
		l.tokens = append(l.tokens[:retained/2], l.tokens[retained/2+1:]...)
	}
}

func (l *Load) pick(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tokens) == 0 {
		return ""
	}
	return l.tokens[n%len(l.tokens)]
}

// Tokens returns all stored tokens.
func (l *Load) Tokens() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.tokens...)
}

// Stop ends the load, and returns the failures.
func (l *Load) Stop() []error {
	l.cancel()
	l.done.Wait()
	return l.errs
}

// String returns the counts.
func (l *Load) String() string {
	return fmt.Sprintf("%d tokens issued, %d validated, %d requests failed", l.Issued.Load(), l.Validated.Load(), len(l.errs))
}
