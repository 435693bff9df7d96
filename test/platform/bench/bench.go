package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// bench measures one platform.
type bench struct {
	p      *platform.Platform
	out    io.Writer
	claims []*unstructured.Unstructured
}

// programs are the programs whose usage is printed.
var programs = []string{"function", "crossplane", "provider-kubernetes", "management-apiserver"}

// sample contains the counters at a time.
type sample struct {
	at       time.Time
	requests map[platform.Request]int
	cpu      map[string]time.Duration
	memory   map[string]int64
	calls    int
	opened   int
}

func (b *bench) sample(ctx context.Context) (s sample, err error) {
	s = sample{at: time.Now(), cpu: map[string]time.Duration{}, memory: map[string]int64{}}
	if s.requests, err = b.p.Requests(); err != nil {
		return s, err
	}
	for _, name := range programs {
		if s.cpu[name], s.memory[name], err = b.p.Usage(name); err != nil {
			return s, err
		}
	}
	if s.calls, err = b.p.FunctionCalls(ctx); err != nil {
		return s, err
	}
	s.opened, err = b.p.CircuitOpenings(ctx)
	return s, err
}

// grow creates claims up to n, waits until all are ready, and prints a line of the table.
func (b *bench) grow(ctx context.Context, n int, first bool) error {
	before, err := b.sample(ctx)
	if err != nil {
		return err
	}
	ordered := map[types.NamespacedName]time.Time{}
	for len(b.claims) < n {
		claim, err := platform.Decode(examples.Claim)
		if err != nil {
			return err
		}
		claim[0].SetNamespace(fmt.Sprintf("tenant-%d", len(b.claims)))
		if err := b.p.Order(ctx, claim[0]); err != nil {
			return err
		}
		ordered[types.NamespacedName{Namespace: claim[0].GetNamespace(), Name: claim[0].GetName()}] = time.Now()
		b.claims = append(b.claims, claim[0])
	}
	took, err := b.ready(ctx, ordered)
	if err != nil {
		return err
	}
	after, err := b.sample(ctx)
	if err != nil {
		return err
	}
	if first {
		fmt.Fprintln(b.out, "| control planes | ready after (median, last) | writes each: Crossplane | provider | calls each |"+
			" function CPU each, memory | Crossplane | provider | API server | openings |")
		fmt.Fprintln(b.out, "|---|---|---|---|---|---|---|---|---|---|")
	}
	each := float64(len(ordered))
	fmt.Fprintf(b.out, "| %d | %.0f s, %.0f s | %.0f | %.0f | %.0f |", n, median(took).Seconds(), slices.Max(took).Seconds(),
		float64(writes(before, after, "crossplane"))/each, float64(writes(before, after, "provider-kubernetes"))/each,
		float64(after.calls-before.calls)/each)
	for _, name := range programs {
		fmt.Fprintf(b.out, " %.2f s, %d MB |", (after.cpu[name]-before.cpu[name]).Seconds()/each, after.memory[name]>>20)
	}
	fmt.Fprintf(b.out, " %d |\n", after.opened-before.opened)
	if first {
		return b.explain(ctx, before, after)
	}
	return nil
}

// ready waits until claims are ready, and returns the duration of each.
func (b *bench) ready(ctx context.Context, ordered map[types.NamespacedName]time.Time) ([]time.Duration, error) {
	var took []time.Duration
	kind := b.claims[0].GroupVersionKind()
	for waiting := maps.Clone(ordered); len(waiting) > 0; {
		all, err := b.p.List(ctx, kind, "")
		if err != nil {
			return nil, err
		}
		for _, u := range all {
			name := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
			start, waits := waiting[name]
			if c, _ := platform.ConditionOf(&u, "Ready"); waits && c.Status == "True" {
				took = append(took, time.Since(start))
				delete(waiting, name)
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d claims are not ready: %w", len(waiting), context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
		if err := b.p.Err(); err != nil {
			return nil, err
		}
	}
	return took, nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// isWrite reports whether a request writes permanent data: neither an event, nor an access review.
func isWrite(r platform.Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		!slices.Contains([]string{"/events", "events.k8s.io/events", "coordination.k8s.io/leases"}, r.Resource)
}

func writes(before, after sample, user string) int {
	sum := 0
	for r, n := range after.requests {
		if r.User == user && isWrite(r) {
			sum += n - before.requests[r]
		}
	}
	return sum
}

// rest measures the load of ready control planes without changes.
func (b *bench) rest(ctx context.Context, d time.Duration) error {
	delay := 20 * time.Second // writes after Ready
	for _, pause := range []time.Duration{delay, d} {
		before, err := b.sample(ctx)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err())
		case <-time.After(pause):
		}
		if pause == delay {
			continue
		}
		after, err := b.sample(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "%d control planes at rest for %s: writes by Crossplane %d, by the provider %d; calls %d", len(b.claims), pause,
			writes(before, after, "crossplane"), writes(before, after, "provider-kubernetes"), after.calls-before.calls)
		for _, name := range programs {
			fmt.Fprintf(b.out, "; %s %.1f %% of a core, %d MB", name,
				100*(after.cpu[name]-before.cpu[name]).Seconds()/pause.Seconds(), after.memory[name]>>20)
		}
		fmt.Fprintln(b.out)
	}
	return nil
}
