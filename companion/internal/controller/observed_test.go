package controller

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// TestWritesObservationTimeOncePerInterval: the time of the last observation is written with other changes, and otherwise once per
// interval, and only by passes that read everything.
func TestWritesObservationTimeOncePerInterval(t *testing.T) {
	const interval = freshness.WriteInterval
	for name, tc := range map[string]struct {
		reason string
		// before is the age of the recorded time; -1 is none. interval is that of the kind.
		before, interval time.Duration
		next             Decision
		incomplete       bool
		// changes is set if the pass changes another field.
		changes bool
		// age of the time after the pass; -1 is none.
		want   time.Duration
		writes int
	}{
		"first":    {reason: "There is no time yet.", before: -1, writes: 1},
		"quiet":    {reason: "Each write makes Crossplane compose.", before: interval - time.Second, want: interval - time.Second},
		"interval": {reason: "The status would become too old.", before: interval, writes: 1},
		"own interval": {
			reason: "A guard needs a younger status.", before: freshness.GuardWriteInterval, interval: freshness.GuardWriteInterval, writes: 1,
		},
		"changed":  {reason: "The status is written in any case.", before: time.Minute, changes: true, writes: 1},
		"recorded": {reason: "It is written over the version that was read.", before: time.Minute, next: Decision{Record: true}, writes: 1},
		"future":   {reason: "The clock was set back.", before: -time.Hour, writes: 1},
		"incomplete": {
			reason: "A service did not respond.", before: 2 * interval, incomplete: true, want: 2 * interval,
		},
		"incomplete and changed": {
			reason: "A condition contains the reason; the rest of the status is old.", before: 2 * interval, incomplete: true, changes: true,
			want: 2 * interval, writes: 1,
		},
		"incomplete and first": {reason: "There was no observation.", before: -1, incomplete: true, changes: true, want: -1, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o, writes := newObject(), 0
			if tc.before != -1 {
				o.Status.LastObservationTime = &metav1.Time{Time: now.Add(-tc.before)}
			}
			env := newEnv(server(nil, &writes, o))
			k := testKind(func(o *object) Decision {
				d := tc.next
				d.Status = func() {
					if tc.changes {
						condition.Set(&o.Status.Conditions, "Available", 1, now, condition.False("Waiting", "it does not respond"))
					}
				}
				return d
			})
			k.WriteInterval, k.Incomplete = tc.interval, func(*object) bool { return tc.incomplete }
			result, err := k.Reconcile(t.Context(), env, request)
			if err != nil {
				t.Fatal(err)
			}
			if result.RequeueAfter != ResyncInterval {
				t.Errorf("the next pass is in %s", result.RequeueAfter)
			}
			if writes != tc.writes {
				t.Errorf("%s The status was written %d times, want %d", tc.reason, writes, tc.writes)
			}
			got := newObject()
			if err := env.Reader.Get(t.Context(), request.NamespacedName, got); err != nil {
				t.Fatal(err)
			}
			at := got.Status.LastObservationTime
			if (at == nil) != (tc.want == -1) || at != nil && !at.Time.Equal(now.Add(-tc.want)) {
				t.Errorf("%s The time is %v, want one of %s ago", tc.reason, at, tc.want)
			}
			if want := Unix(at); exported(t) != want {
				t.Errorf("exported %v, want %v", exported(t), want)
			}
		})
	}
}

// exported returns the exported time of the object.
func exported(t *testing.T) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(observedAt); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

// TestObserved_Writes: an object without changes is written once per interval, independent of the interval of its passes.
func TestObserved_Writes(t *testing.T) {
	o, writes := newObject(), 0
	env := newEnv(server(nil, &writes, o))
	clock := clocktesting.NewFakePassiveClock(now)
	env.Clock = clock
	k := testKind(func(*object) Decision { return Decision{Status: func() {}, RequeueAfter: time.Minute} })
	for range 120 {
		if _, err := k.Reconcile(context.Background(), env, request); err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(time.Minute))
	}
	if want := int(2 * time.Hour / freshness.WriteInterval); writes != want {
		t.Errorf("%d writes in two hours, want %d", writes, want)
	}
}
