package controller

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestFirst(t *testing.T) {
	rules := []func(int) *Decision{
		func(n int) *Decision {
			if n > 1 {
				return &Decision{Name: "Many"}
			}
			return nil
		},
		func(n int) *Decision {
			if n > 0 {
				return &Decision{Name: "Some"}
			}
			return nil
		},
	}
	for n, want := range map[int]string{0: "Idle", 1: "Some", 2: "Many"} {
		if got := First(rules, n).Name; got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestIntervalsAreAsDocumented: as documented in docs/explanation/companion.md, the resync interval is ten minutes, and the poll interval
// is ten seconds.
func TestIntervalsAreAsDocumented(t *testing.T) {
	if ResyncInterval != 10*time.Minute || Poll != 10*time.Second || MinRequeueInterval <= 0 || MinRequeueInterval > time.Second {
		t.Errorf("%s, %s, %s", ResyncInterval, Poll, MinRequeueInterval)
	}
	for after, want := range map[time.Duration]time.Duration{
		-time.Hour: MinRequeueInterval, 0: MinRequeueInterval, time.Minute: time.Minute, time.Hour: ResyncInterval,
	} {
		if got := RequeueIn(now.Add(after), now); got != want {
			t.Errorf("until %s from now: %s, want %s", after, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	env := &Env{Clock: clock}
	a, b := client.ObjectKey{Name: "a"}, client.ObjectKey{Name: "b"}
	for i, tc := range []struct {
		after time.Duration
		key   client.ObjectKey
		want  time.Duration
	}{
		{0, a, 0}, {4 * time.Second, a, 6 * time.Second}, {4 * time.Second, b, 0}, {9 * time.Second, a, time.Second}, {10 * time.Second, a, 0},
		{11 * time.Second, a, 9 * time.Second},
	} {
		clock.SetTime(now.Add(tc.after))
		if got := env.Limit(tc.key, 10*time.Second); got != tc.want {
			t.Errorf("%d: %s waits %s, want %s", i, tc.key.Name, got, tc.want)
		}
	}
}

func TestEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	(&Env{Events: recorder}).Event(&corev1.Pod{}, corev1.EventTypeWarning, "Failed", strings.Repeat("é", 1000)+"%d")
	if got, want := <-recorder.Events, "Warning Failed "+strings.Repeat("é", 512); got != want {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	(&Env{Events: recorder}).Event(&corev1.Pod{}, corev1.EventTypeNormal, "Done", strings.Repeat("x", 1025))
	if got, want := <-recorder.Events, "Normal Done "+strings.Repeat("x", 1024); got != want {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestRandomText(t *testing.T) {
	env := &Env{Random: strings.NewReader("\x01\x02\x03\x04\x05")}
	if got, err := env.RandomText(4, hex.EncodeToString); got != "01020304" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := env.RandomText(4, hex.EncodeToString); err == nil {
		t.Error("a short read must not return a random number")
	}
}

// TestWrite: a missing Secret is created, and an existing one is updated only in the version that was read.
func TestWrite(t *testing.T) {
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	env := &Env{Client: api}
	created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "a"}}
	if err := env.Write(t.Context(), created.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := env.Write(t.Context(), created.DeepCopy()); !IsConflict(err) || !strings.HasPrefix(err.Error(), "cannot write Secret a: ") {
		t.Errorf("made twice: %v", err)
	}
	read := &corev1.Secret{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(created), read); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"first", "second"} {
		s := read.DeepCopy()
		s.Data = map[string][]byte{"key": []byte(value)}
		if err := env.Write(t.Context(), s); (value == "first") == IsConflict(err) {
			t.Errorf("the %s write: %v", value, err)
		}
	}
}

// TestDelete: exactly the observed version is deleted, with its dependents, and a changed object is kept.
func TestDelete(t *testing.T) {
	var policy metav1.DeletionPropagation
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			all := (&client.DeleteOptions{}).ApplyOptions(opts)
			policy = *all.PropagationPolicy
			stored := &corev1.Secret{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
				return err
			}
			if p := all.Preconditions; p == nil || *p.UID != stored.UID || *p.ResourceVersion != stored.ResourceVersion {
				return apierrors.NewConflict(secrets, o.GetName(), errors.New("it is another object"))
			}
			return c.Delete(ctx, o)
		},
	})
	env := &Env{Client: api}
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "a", UID: "u"}}
	if err := api.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	observedObject := o.DeepCopy()
	o.Labels = map[string]string{"changed": "since"}
	if err := api.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := Delete(observedObject, metav1.DeletePropagationForeground)(t.Context(), env); !IsConflict(err) || !strings.HasPrefix(err.Error(),
		"cannot delete a: ") {
		t.Errorf("deleted a version that was not read: %v", err)
	}
	for range 2 { // A missing object is not an error.
		if err := Delete(o, metav1.DeletePropagationForeground)(t.Context(), env); err != nil || policy != metav1.DeletePropagationForeground {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func TestRejectedIsNilWithoutError(t *testing.T) {
	if err := Rejected("RejectedByKeystone", nil); err != nil {
		t.Errorf("nothing was refused: %v", err)
	}
}
