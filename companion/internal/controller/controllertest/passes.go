package controllertest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// TB contains the methods of *testing.T and *rapid.T that fail a test.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

const (
	// idleLimit is the number of passes within which a controller must become idle. An injected fault repeats some of them.
	idleLimit = 30
	// waitLimit is the number of passes after which a controller that waits for another system is idle.
	waitLimit = 3
)

// ReconcileLogged runs a pass for an object. As a manager does, it writes the messages and the error of the pass to a log, which tests
// search for secrets.
func ReconcileLogged(r reconcile.Reconciler, key client.ObjectKey, logs io.Writer) (reconcile.Result, error) {
	ctx := log.IntoContext(context.Background(), zap.New(zap.WriteTo(logs), zap.UseDevMode(true)))
	result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	if err != nil {
		log.FromContext(ctx).Error(err, "Reconciler error")
	}
	return result, err
}

// ReconcileUntil repeats a pass of a controller, or several passes, until the function returns true: the goal is reached. The test fails if
// that does not happen within the given number of repetitions. The message contains the goal, which is a noun phrase, and the state.
func ReconcileUntil(t TB, limit int, goal string, pass func() (reached bool), state func() string) {
	t.Helper()
	for range limit {
		if pass() {
			return
		}
	}
	t.Fatalf("does not reach %s in %d repetitions: %s", goal, limit, state())
}

// ReconcileUntilIdle repeats a pass of a controller until the controller is idle: the pass succeeds, and requests the next one after one of
// the idle intervals; 0 permits a pass that requests none, because its object is deleted. A controller that waits for another system
// requests the next pass after controller.Poll; it is idle after three of these passes. The test fails if the controller does not become
// idle.
func ReconcileUntilIdle(t TB, pass func() (reconcile.Result, error), idle ...time.Duration) {
	t.Helper()
	var result reconcile.Result
	var err error
	waits := 0
	ReconcileUntil(t, idleLimit, "an idle controller", func() bool {
		result, err = pass()
		if err != nil {
			return false
		}
		if result.RequeueAfter == controller.Poll {
			waits++
		}
		return waits == waitLimit || slices.Contains(idle, result.RequeueAfter)
	}, func() string {
		return fmt.Sprintf("the last pass requests the next one after %s and returns the error %v", result.RequeueAfter, err)
	})
}
