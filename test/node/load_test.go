//go:build node && linux

package node_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// load runs clients outside of every pod that repeatedly request tokens of a Keystone and validate them, and call other
// services. No request is retried:
//
//	l := startLoad(ctx, t, namespace) // returns after the first tokens
//	counts := l.take()                // results since then, or since the previous take
//	counts = l.stop()                 // the same, and ends the load
type load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	now    counts
	last   time.Time // the last answer
	tokens []string  // the oldest first
	// started is the start of the last answered request, by name of the other requests.
	started map[string]time.Time
}

// counts are the results of requests.
type counts struct {
	issued, validated, others, failed int
	// by is the number of lost requests, by name.
	by map[string]int
	// first are the first errors, each with its time; from and to are the times of the first and the last one.
	first    []string
	from, to time.Time
	// silence is the longest time without an answered request.
	silence time.Duration
	// outages are the times between two replies in which requests were lost; the last one may not have ended.
	outages []outage
}

// outage is the time between the last response before and the first one after it, which may be missing.
type outage struct{ from, to time.Time }

// total returns the number of requests.
func (c counts) total() int { return c.issued + c.validated + c.others + c.failed }

// String returns a line for a log: 20 issued, 80 validated, 0 others, 0 lost.
func (c counts) String() string {
	text := fmt.Sprintf("%d issued, %d validated, %d others, %d lost, at most %.1f s between replies",
		c.issued, c.validated, c.others, c.failed, c.silence.Seconds())
	if c.failed > 0 {
		text += fmt.Sprintf(", lost from %s to %s", c.from.Format(time.TimeOnly), c.to.Format(time.TimeOnly))
	}
	return text
}

// request is a request to a service other than Keystone.
type request struct {
	name string
	send func(context.Context, *cloud) error
}

// Requests to Keystone.
const (
	issue    = "issue a token"
	validate = "validate a token"
)

const (
	loadClients     = 2
	loadValidations = 9
	loadPause       = 400 * time.Millisecond
	loadTokens      = 200 // that are kept, of all times since the start
	loadErrors      = 5   // that are kept
	// loadTimeout is the timeout of a request.
	loadTimeout = 15 * time.Second
)

// startLoad starts clients, and another one for each of the requests, and returns when each has a token. The load ends with stop, or with
// the test.
func startLoad(ctx context.Context, t *testing.T, namespace string, others ...request) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel, last: time.Now(), started: map[string]time.Time{}}
	for _, r := range others {
		l.started[r.name] = time.Time{}
	}
	for i := range loadClients {
		c := login(ctx, t, namespace)
		c.provider.HTTPClient.Timeout = loadTimeout
		l.keep(c.provider.Token())
		l.done.Go(func() { l.run(ctx, c, i) })
	}
	for _, r := range others {
		c := login(ctx, t, namespace)
		c.provider.HTTPClient.Timeout = loadTimeout
		l.done.Go(func() {
			for ; ctx.Err() == nil; pause(ctx) {
				began := time.Now()
				if l.count(ctx, r.name, r.send(ctx, c)) {
					l.note(r.name, began)
				}
			}
		})
	}
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *load) run(ctx context.Context, c *cloud, n int) {
	for ; ctx.Err() == nil; n += loadClients {
		token, err := tokens.Create(ctx, c.identity, c.options()).ExtractTokenID()
		if l.count(ctx, issue, err) {
			l.keep(token)
			c.provider.SetToken(token)
		}
		for i := range loadValidations {
			pause(ctx)
			err := tokens.Get(ctx, c.identity, l.pick(n*loadValidations+i)).Err
			l.count(ctx, validate, err)
		}
		pause(ctx)
	}
}

// pause waits between two requests of a client.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(loadPause):
	}
}

// count records the end of a request; a request that was canceled at the end of the load does not count.
func (l *load) count(ctx context.Context, name string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case err != nil && ctx.Err() != nil:
		return false
	case err != nil:
		if l.now.failed++; l.now.failed == 1 {
			l.now.from = now
		}
		l.now.to = now
		if l.now.by == nil {
			l.now.by = map[string]int{}
		}
		l.now.by[name]++
		if n := len(l.now.outages); n == 0 || !l.now.outages[n-1].to.IsZero() {
			l.now.outages = append(l.now.outages, outage{from: l.last})
		}
		if len(l.now.first) < loadErrors {
			l.now.first = append(l.now.first, fmt.Sprintf("%s cannot %s: %v", now.Format(time.TimeOnly), name, err))
		}
		return false
	case name == issue:
		l.now.issued++
	case name == validate:
		l.now.validated++
	default:
		l.now.others++
	}
	if n := len(l.now.outages); n > 0 && l.now.outages[n-1].to.IsZero() {
		l.now.outages[n-1].to = now
	}
	l.now.silence = max(l.now.silence, now.Sub(l.last))
	l.last = now
	return true
}

// keep stores a token; the very first ones stay forever.
func (l *load) keep(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens = append(l.tokens, token); len(l.tokens) > loadTokens {
		l.tokens = slices.Delete(l.tokens, loadTokens/2, loadTokens/2+1)
	}
}

func (l *load) pick(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[n%len(l.tokens)]
}

// retained returns tokens of all times since the start.
func (l *load) retained() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tokens)
}

// take returns the results since the load started, or since the last call.
func (l *load) take() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.now
	out.silence = max(out.silence, time.Since(l.last))
	l.now = counts{}
	return out
}

// steady reports whether requests are answered, and none was lost for a time.
func (l *load) steady(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last) < loadTimeout && time.Since(l.now.to) > d
}

// note records an answered request and its start.
func (l *load) note(name string, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started[name] = began
}

// answered returns an error unless each of the other requests was answered at least once after a time: requests that
// started earlier have also ended, since each client sends one after the other.
func (l *load) answered(since time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.started)) {
		if l.started[name].Before(since) {
			return fmt.Errorf("no client has succeeded again: %s", name)
		}
	}
	return nil
}

// stop ends the load, and returns the results since the last take.
func (l *load) stop() counts {
	l.cancel()
	l.done.Wait()
	return l.take()
}

// lossless fails a test if a request was lost, or if there was hardly any load. It logs the counts.
func (c counts) lossless(t *testing.T, name string) {
	t.Helper()
	t.Logf("%s: %s", name, c)
	for _, text := range c.first {
		t.Errorf("%s: %s", name, text)
	}
	if c.issued == 0 || c.validated == 0 {
		t.Errorf("%s: that is no load", name)
	}
}

// options returns the login of the administrator, without a token.
func (c *cloud) options() *tokens.AuthOptions {
	return &tokens.AuthOptions{
		IdentityEndpoint: c.url, Username: c.user, Password: c.password, DomainName: "Default",
		Scope: tokens.Scope{ProjectName: "admin", DomainName: "Default"},
	}
}
