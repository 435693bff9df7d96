package plans

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// pause is the interval between the requests of a client.
const pause = 200 * time.Millisecond

// Load is a set of clients that repeat requests to services, and count failures by service.
type Load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	loss     map[string]harness.Loss
	requests []int // that succeeded, by client
	errs     []error
}

// A Request is the request of a client.
type Request struct {
	// Service is the service that gets it, and Label describes it.
	Service, Label string
	Do             func(context.Context) error
}

// Start starts a client for each request, which repeats it one at a time.
func Start(requests []Request) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{cancel: cancel, loss: map[string]harness.Loss{}, requests: make([]int, len(requests))}
	for i, r := range requests {
		l.done.Go(func() { l.repeat(ctx, i, r) })
	}
	return l
}

// repeat sends a request until the load stops. A request that has started is completed.
func (l *Load) repeat(ctx context.Context, i int, r Request) {
	var failing time.Time // the start of the first request that failed since the last success
	for ctx.Err() == nil {
		began := time.Now()
		err := r.Do(context.Background())
		if err != nil && failing.IsZero() {
			failing = began
		}
		l.count(i, r, began, failing, err)
		if err == nil {
			failing = time.Time{}
		}
		time.Sleep(pause)
	}
}

// count records the result of a request.
func (l *Load) count(i int, r Request, began, failing time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loss := l.loss[r.Service]
	loss.Requests++
	if err != nil {
		loss.Failed++
		now, took := time.Now().Format(time.TimeOnly), time.Since(began).Seconds()
		l.errs = append(l.errs, fmt.Errorf("%s after %.1f s: %s: %w", now, took, r.Label, err))
		began = time.Now() // It lasts at least until now.
	} else {
		l.requests[i]++
	}
	if !failing.IsZero() {
		loss.Longest = max(loss.Longest, began.Sub(failing))
	}
	l.loss[r.Service] = loss
}

// Least returns the number of successful requests of the client with the fewest of them.
func (l *Load) Least() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := -1
	for _, n := range l.requests {
		if least < 0 || n < least {
			least = n
		}
	}
	return least
}

// Stop ends the load, and returns the loss by service, and all errors.
func (l *Load) Stop() (map[string]harness.Loss, []error) {
	l.cancel()
	l.done.Wait()
	return l.loss, l.errs
}
