package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

var (
	now     = time.Unix(1e9, 0)
	request = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "cloud", Name: "glance"}}
	secrets = schema.GroupResource{Resource: "secrets"}
	errTest = errors.New("it is broken")

	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := openstackv1.AddToScheme(s); err != nil {
			panic(err)
		}
		return s
	}()
)

type object = openstackv1.EndpointRegion

// testKind returns a kind whose observation is the object.
func testKind(next func(*object) Decision) *Kind[*object, *object] {
	return &Kind[*object, *object]{
		Name: "EndpointRegion", Object: &object{}, List: &openstackv1.EndpointRegionList{},
		Observe:    func(_ context.Context, _ *Env, o *object) (*object, error) { return o, nil },
		Next:       next,
		Conditions: func(o *object) *[]metav1.Condition { return &o.Status.Conditions },
		ObservedAt: func(o *object) **metav1.Time { return &o.Status.LastObservationTime },
		Warns:      []string{"Available"},
		Metrics:    NewMetrics("test"),

		FormerConditions: []string{"Usable"},
	}
}

func newObject() *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, Generation: 1}}
}

// server returns an API server whose writes fail with the error, if it is set, and are counted.
func server(fails error, writes *int, objects ...client.Object) client.WithWatch {
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&object{}).Build()
	return interceptor.NewClient(c, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			*writes++
			if fails != nil {
				return fails
			}
			return c.Status().Update(ctx, o, opts...)
		},
	})
}

func newEnv(api client.Client) *Env {
	return &Env{Client: api, Reader: api, Events: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(now)}
}

func drained(e *Env) []string {
	var out []string
	recorder, _ := e.Events.(*events.FakeRecorder)
	for len(recorder.Events) > 0 {
		out = append(out, <-recorder.Events)
	}
	return out
}

func TestReconcile(t *testing.T) {
	set := func(o *object, s condition.State) func() {
		return func() { condition.Set(&o.Status.Conditions, "Available", o.Generation, now, s) }
	}
	up, down := condition.True("Up", "it exists"), condition.False("Down", "it does not exist")
	resync := reconcile.Result{RequeueAfter: ResyncInterval}
	does := func(err error) Action { return func(context.Context, *Env) error { return err } }
	with := func(s condition.State) []metav1.Condition {
		var out []metav1.Condition
		condition.Set(&out, "Available", 1, now, s)
		return out
	}
	for name, tc := range map[string]struct {
		reason string
		before []metav1.Condition
		fails  error
		next   func(*object) Decision
		want   reconcile.Result
		err    error
		writes int
		events []string
		state  string
	}{
		"Waits": {
			reason: "The status is written once.",
			next:   func(o *object) Decision { return Decision{Status: set(o, up), RequeueAfter: time.Minute} },
			want:   reconcile.Result{RequeueAfter: time.Minute}, writes: 1, state: "True Up",
		},
		"Same": {
			reason: "Each write triggers Crossplane.", before: with(up),
			next: func(o *object) Decision { return Decision{Status: set(o, up)} }, want: resync, state: "True Up",
		},
		"Renamed": {
			reason: "The former condition is removed.", before: append(with(up), metav1.Condition{Type: "Usable", Status: metav1.ConditionTrue}),
			next: func(o *object) Decision { return Decision{Status: set(o, up)} }, want: resync, writes: 1, state: "True Up",
		},
		"Record": {
			reason: "A stale observation ends at the write.", before: with(up),
			next: func(o *object) Decision { return Decision{Status: set(o, up), Record: true} }, want: resync, writes: 1, state: "True Up",
		},
		"Warning": {
			reason: "A warning is emitted when it becomes false.", before: with(up),
			next: func(o *object) Decision { return Decision{Status: set(o, down)} }, want: resync, writes: 1,
			events: []string{"Warning Down it does not exist"}, state: "False Down",
		},
		"WarnedAlready": {
			reason: "The reason is unchanged.", before: with(condition.False("Down", "it did not exist")),
			next: func(o *object) Decision { return Decision{Status: set(o, down)} }, want: resync, writes: 1, state: "False Down",
		},
		"AnotherReason": {
			reason: "A new reason emits a warning.", before: with(condition.False("Away", "it is external")),
			next: func(o *object) Decision { return Decision{Status: set(o, down)} }, want: resync, writes: 1,
			events: []string{"Warning Down it does not exist"}, state: "False Down",
		},
		"Expected": {
			reason: "It is expected to be false.",
			next:   func(o *object) Decision { return Decision{Status: set(o, down), Expected: true} }, want: resync, writes: 1, state: "False Down",
		},
		"Conflict": {
			reason: "The object was written concurrently: the pass is repeated without events or actions.",
			fails:  apierrors.NewConflict(secrets, "a", nil),
			next:   func(o *object) Decision { return Decision{Status: set(o, down), Action: does(errTest), Note: "done"} },
			want:   reconcile.Result{RequeueAfter: MinRequeueInterval}, writes: 1,
		},
		"NotWritten": {
			reason: "Nothing is done without a record.", fails: errTest,
			next: func(o *object) Decision { return Decision{Status: set(o, up), Action: does(nil), Note: "done"} }, err: errTest, writes: 1,
		},
		"Does": {
			reason: "There may be further steps.",
			next:   func(*object) Decision { return Decision{Name: "Done", Action: does(nil), Note: "did it"} },
			want:   reconcile.Result{RequeueAfter: MinRequeueInterval}, events: []string{"Normal Done did it"},
		},
		"DoesAndRests": {
			reason: "The action takes time.",
			next: func(*object) Decision {
				return Decision{Name: "Done", Action: does(nil), Note: "did it", Warning: true, RequeueAfter: time.Minute}
			},
			want: reconcile.Result{RequeueAfter: time.Minute}, events: []string{"Warning Done did it"},
		},
		"Note": {
			reason: "Something was observed to be finished.", next: func(*object) Decision { return Decision{Name: "Over", Note: "it is over"} },
			events: []string{"Normal Over it is over"},
		},
		"Late": {
			reason: "Another leader has done it; the error is wrapped.",
			next: func(*object) Decision {
				return Decision{Action: does(fmt.Errorf("cannot create it: %w", apierrors.NewAlreadyExists(secrets, "a"))), Note: "did it"}
			},
			want: reconcile.Result{RequeueAfter: MinRequeueInterval},
		},
		"Fails": {
			reason: "It is retried with exponential backoff.",
			next: func(*object) Decision {
				return Decision{Action: does(errTest), Note: "did it", RequeueAfter: time.Minute}
			}, err: errTest,
		},
		"Missing": {
			reason: "Other errors of the API are failures.",
			next:   func(*object) Decision { return Decision{Action: does(apierrors.NewNotFound(secrets, "a"))} },
			err:    apierrors.NewNotFound(secrets, "a"),
		},
		"Refused": {
			reason: "The reason is reported.", before: with(up),
			next: func(*object) Decision {
				return Decision{Action: does(Rejected("RejectedByKeystone", errTest)), Note: "did it"}
			},
			want: reconcile.Result{RequeueAfter: Poll}, writes: 1,
			events: []string{"Warning RejectedByKeystone it is broken"}, state: "False RejectedByKeystone",
		},
		"RefusedAgain": {
			reason: "Status changes of the action are written, even if the message is unchanged.", before: with(condition.False("RejectedByKeystone",
				"it is broken")),
			next: func(o *object) Decision {
				return Decision{Action: func(context.Context, *Env) error {
					o.Status.ID = "taken back"
					return &TerminalError{Reason: "RejectedByKeystone", Message: errTest.Error(), RequeueAfter: time.Hour}
				}}
			},
			want: reconcile.Result{RequeueAfter: time.Hour}, writes: 1, state: "False RejectedByKeystone",
		},
		"RefusedForACause": {
			reason: "The reason is reported, and it is retried with exponential backoff.", before: with(up),
			next: func(*object) Decision {
				return Decision{Action: does(&TerminalError{Reason: "WriteFailed", Message: "no", Cause: errTest})}
			},
			err: errTest, writes: 1, events: []string{"Warning WriteFailed no"}, state: "False WriteFailed",
		},
		"RefusedUnheard": {
			reason: "A failed write is repeated in the next pass.", fails: apierrors.NewConflict(secrets, "a", nil),
			next: func(*object) Decision { return Decision{Action: does(Rejected("RejectedByKeystone", errTest))} },
			want: reconcile.Result{RequeueAfter: MinRequeueInterval}, writes: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObject()
			o.Status.Conditions, o.Status.LastObservationTime = tc.before, &metav1.Time{Time: now}
			writes := 0
			env := newEnv(server(tc.fails, &writes, o))
			got, err := testKind(tc.next).Reconcile(t.Context(), env, request)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if (err != nil) != (tc.err != nil) || tc.err != nil && !errors.Is(err, tc.err) && err.Error() != tc.err.Error() {
				t.Errorf("%s: error %v, want %v", tc.reason, err, tc.err)
			}
			if writes != tc.writes {
				t.Errorf("%s: %d writes, want %d", tc.reason, writes, tc.writes)
			}
			if diff := cmp.Diff(tc.events, drained(env)); diff != "" {
				t.Errorf("%s: events (-want +got):\n%s", tc.reason, diff)
			}
			if err := env.Reader.Get(t.Context(), request.NamespacedName, o); err != nil {
				t.Fatal(err)
			}
			if meta.FindStatusCondition(o.Status.Conditions, "Usable") != nil {
				t.Errorf("%s: the former condition remains", tc.reason)
			}
			if c := meta.FindStatusCondition(o.Status.Conditions, "Available"); tc.state != "" && (c == nil ||
				string(c.Status)+" "+c.Reason != tc.state) {
				t.Errorf("%s: %v, want %s", tc.reason, c, tc.state)
			}
		})
	}
}

// TestWritesStatusBeforeAction: the status is written before the action, so that nothing is done without a record.
func TestWritesStatusBeforeAction(t *testing.T) {
	writes := 0
	k := testKind(func(o *object) Decision {
		return Decision{Status: func() { o.Status.ID = "x" }, Action: func(context.Context, *Env) error {
			if writes != 1 {
				t.Errorf("done after %d writes", writes)
			}
			return nil
		}}
	})
	if _, err := k.Reconcile(t.Context(), newEnv(server(nil, &writes, newObject())), request); err != nil {
		t.Fatal(err)
	}
}

// TestObservesDeletedObjectsOnlyToFinalize: an object that does not exist or is being deleted is not observed, unless the kind finalizes,
// and no state of it is kept.
func TestObservesDeletedObjectsOnlyToFinalize(t *testing.T) {
	deleted := newObject()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: now}, []string{"somebody/else"}
	for name, tc := range map[string]struct {
		objects   []client.Object
		finalizes bool
		observed  bool
	}{
		"There":              {objects: []client.Object{newObject()}, observed: true},
		"Gone":               {},
		"Deleted":            {objects: []client.Object{deleted}},
		"DeletedAndFinalize": {objects: []client.Object{deleted}, finalizes: true, observed: true},
	} {
		t.Run(name, func(t *testing.T) {
			writes, observed := 0, false
			k := testKind(func(o *object) Decision {
				observed = true
				return Decision{Status: func() { o.Status.ID = "x" }, RequeueAfter: time.Minute}
			})
			k.Finalizes = tc.finalizes
			k.Metrics.setMetrics(newObject(), nil, []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue}})
			env := newEnv(server(nil, &writes, tc.objects...))
			env.Limit(request.NamespacedName, time.Hour)
			result, err := k.Reconcile(t.Context(), env, request)
			if err != nil || observed != tc.observed || (result.RequeueAfter > 0) != tc.observed {
				t.Errorf("observed: %v, %v, %v", observed, result, err)
			}
			if _, known := env.last[request.NamespacedName]; known != tc.observed || (series(t, k.Metrics)[`Available`] != nil) != tc.observed {
				t.Errorf("remembered: %v, %v", known, series(t, k.Metrics))
			}
		})
	}
}

// TestReadErrorsPreventDecisions: read errors are returned, and no decision is made.
func TestReadErrorsPreventDecisions(t *testing.T) {
	k := testKind(func(*object) Decision { t.Error("decided"); return Decision{} })
	writes := 0
	env := newEnv(server(nil, &writes, newObject()))
	k.Observe = func(context.Context, *Env, *object) (*object, error) { return nil, errTest }
	if _, err := k.Reconcile(t.Context(), env, request); !errors.Is(err, errTest) {
		t.Errorf("%v", err)
	}
	env.Reader = interceptor.NewClient(server(nil, &writes, newObject()), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errTest
		},
	})
	if _, err := k.Reconcile(t.Context(), env, request); err == nil || err.Error() != "cannot read the EndpointRegion: it is broken" {
		t.Errorf("%v", err)
	}
}

// TestExportsMetricsOfStatus: the exported metrics are those of the status.
func TestExportsMetricsOfStatus(t *testing.T) {
	k := testKind(func(o *object) Decision { return Decision{Status: func() { o.Status.ID = "x" }} })
	shown := ""
	k.ExportMetrics = func(o *object) { shown = o.Status.ID }
	writes := 0
	if _, err := k.Reconcile(t.Context(), newEnv(server(nil, &writes, newObject())), request); err != nil || shown != "x" {
		t.Errorf("%q, %v", shown, err)
	}
}

// TestRepeatedConflictsIncreaseRequeueDelay: repeated conflicts of an object are retried less and less often, until a pass without one.
func TestRepeatedConflictsIncreaseRequeueDelay(t *testing.T) {
	env, key := &Env{}, client.ObjectKey{Name: "a"}
	for _, want := range []time.Duration{MinRequeueInterval, 2 * MinRequeueInterval, 4 * MinRequeueInterval} {
		if got := env.conflicted(key); got != want {
			t.Errorf("requeued after %s, want %s", got, want)
		}
	}
	for range 20 {
		env.conflicted(key)
	}
	if got := env.conflicted(key); got != Poll {
		t.Errorf("requeued after %s, want %s", got, Poll)
	}
	if got := env.conflicted(client.ObjectKey{Name: "b"}); got != MinRequeueInterval {
		t.Errorf("another object is requeued after %s", got)
	}
}

// TestReconcile_Deadline verifies that each pass has a deadline, also for requests to the API server, and that a pass ends with its error.
func TestReconcile_Deadline(t *testing.T) {
	k := testKind(func(*object) Decision { return Decision{} })
	limited := map[string]bool{}
	record := func(ctx context.Context, request string) { _, limited[request] = ctx.Deadline() }
	silent := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(newObject()).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			record(ctx, "read")
			return c.Get(ctx, key, o, opts...)
		},
	})
	k.Observe = func(ctx context.Context, _ *Env, o *object) (*object, error) {
		record(ctx, "observe")
		return o, fmt.Errorf("cannot read: %w", context.DeadlineExceeded)
	}
	_, err := k.Reconcile(t.Context(), &Env{Client: silent, Reader: silent, Clock: clocktesting.NewFakePassiveClock(time.Now())}, request)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the pass ends with %v", err)
	}
	if diff := cmp.Diff(map[string]bool{"read": true, "observe": true}, limited); diff != "" {
		t.Errorf("requests with a deadline (-want +got):\n%s", diff)
	}
}
