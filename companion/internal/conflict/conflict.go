// Package conflict tells a pass that came too late from one that failed.
package conflict

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// AtOnce is the time after which a controller looks again when it has done something or came too late.
const AtOnce = 100 * time.Millisecond

// Is reports whether a write failed because somebody was faster: the object was changed since it was read, or made by another.
func Is(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// Again is the end of a pass: a conflict is another look and no failure; any other error is given back; nil gives the result.
func Again(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case Is(err):
		log.FromContext(ctx).V(1).Info("somebody was faster", "error", err.Error())
		return reconcile.Result{RequeueAfter: AtOnce}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return result, nil
}
