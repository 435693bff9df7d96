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

// load are clients outside of every pod that ask a Keystone for tokens and validate them, and other services for other things, again and
// again. Nothing is tried twice:
//
//	l := startLoad(ctx, t, namespace) // returns when the first tokens are there
//	counts := l.take()                // what has happened since, or since the take before
//	counts = l.stop()                 // the same, and ends the load
type load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	now    counts
	last   time.Time // the last answer
	tokens []string  // the oldest first
	// begun is when the last of the other requests began that was answered, by its name.
	begun map[string]time.Time
}

// counts say what became of requests.
type counts struct {
	issued, validated, others, lost int
	// by is how many were lost, by what was asked.
	by map[string]int
	// first are the first errors, each with its time; from and to are the times of the first and the last one.
	first    []string
	from, to time.Time
	// silence is the longest time in which no request was answered.
	silence time.Duration
	// outages are the times between two answers in which requests were lost; the last one may go on.
	outages []outage
}

// outage is from the last answer before it to the first after it, which may not have come yet.
type outage struct{ from, to time.Time }

// total is how many requests there were.
func (c counts) total() int { return c.issued + c.validated + c.others + c.lost }

// String is for a log: 20 issued, 80 validated, 0 others, 0 lost.
func (c counts) String() string {
	text := fmt.Sprintf("%d issued, %d validated, %d others, %d lost, at most %.1f s between answers",
		c.issued, c.validated, c.others, c.lost, c.silence.Seconds())
	if c.lost > 0 {
		text += fmt.Sprintf(", lost from %s to %s", c.from.Format(time.TimeOnly), c.to.Format(time.TimeOnly))
	}
	return text
}

// request is what a client asks of a service other than Keystone.
type request struct {
	what string
	send func(context.Context, *cloud) error
}

// What is asked of Keystone.
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
	// loadTimeout is how long a client waits for an answer.
	loadTimeout = 15 * time.Second
)

// startLoad starts clients, and another one for each of the requests, and returns when each has a token. The load ends with stop, or with
// the test.
func startLoad(ctx context.Context, t *testing.T, namespace string, others ...request) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel, last: time.Now(), begun: map[string]time.Time{}}
	for _, r := range others {
		l.begun[r.what] = time.Time{}
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
				if l.count(ctx, r.what, r.send(ctx, c)) {
					l.note(r.what, began)
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

// pause is the time between two requests of a client.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(loadPause):
	}
}

// count notes the end of a request; one that was cut off by the end of the load does not count.
func (l *load) count(ctx context.Context, what string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case err != nil && ctx.Err() != nil:
		return false
	case err != nil:
		if l.now.lost++; l.now.lost == 1 {
			l.now.from = now
		}
		l.now.to = now
		if l.now.by == nil {
			l.now.by = map[string]int{}
		}
		l.now.by[what]++
		if n := len(l.now.outages); n == 0 || !l.now.outages[n-1].to.IsZero() {
			l.now.outages = append(l.now.outages, outage{from: l.last})
		}
		if len(l.now.first) < loadErrors {
			l.now.first = append(l.now.first, fmt.Sprintf("%s cannot %s: %v", now.Format(time.TimeOnly), what, err))
		}
		return false
	case what == issue:
		l.now.issued++
	case what == validate:
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

// keep keeps a token; the very first ones stay for ever.
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

// kept are tokens of all times since the start.
func (l *load) kept() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tokens)
}

// take returns what has happened since the load started, or since the last call.
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

// note notes that a request was answered, and when it began.
func (l *load) note(what string, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[what] = began
}

// answered is no error if of each of the other requests one was answered that began after a time: whatever began before it has come to its
// end, too, since each client sends one after the other.
func (l *load) answered(since time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(l.begun)) {
		if l.begun[what].Before(since) {
			return fmt.Errorf("nobody has yet been able to %s again", what)
		}
	}
	return nil
}

// stop ends the load, and returns what has happened since the last take.
func (l *load) stop() counts {
	l.cancel()
	l.done.Wait()
	return l.take()
}

// lossless fails a test if a request was lost, or if there was no load to speak of. It logs what there was.
func (c counts) lossless(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %s", what, c)
	for _, text := range c.first {
		t.Errorf("%s: %s", what, text)
	}
	if c.issued == 0 || c.validated == 0 {
		t.Errorf("%s: that is no load", what)
	}
}

// options are what the administrator logs in with, from the beginning each time.
func (c *cloud) options() *tokens.AuthOptions {
	return &tokens.AuthOptions{
		IdentityEndpoint: c.url, Username: c.user, Password: c.password, DomainName: "Default",
		Scope: tokens.Scope{ProjectName: "admin", DomainName: "Default"},
	}
}
