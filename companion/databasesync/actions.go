package databasesync

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// poll is the interval for dependencies that are not watched: pods, Secrets and ConfigMaps.
const poll = 5 * time.Second

// step converts a plan to a decision. The status is written before the action, so that nothing runs without a record.
func (p *plan) step(w *observation) controller.Decision {
	return controller.Decision{
		Name: "Schema", Note: p.note, Expected: !p.rejected,
		Status: func() { w.sync.Status = report(w, p) }, Action: p.do(w), RequeueAfter: p.requeueAfter(w),
	}
}

// requeueAfter returns the time until the next pass after the plan was executed.
func (p *plan) requeueAfter(w *observation) time.Duration {
	switch {
	case p.requeue:
		return controller.MinRequeueInterval
	case !p.at.IsZero():
		return controller.RequeueIn(p.at, w.now)
	case p.rejected, p.phase == openstackv1.SyncPhaseDone:
		return controller.ResyncInterval
	}
	return poll
}

func (p *plan) do(w *observation) controller.Action {
	switch {
	case p.failed:
		return p.reportFailure(w)
	case p.create != nil:
		return p.createJob(w)
	case p.release != nil:
		return batchjob.Suspend(p.release, false)
	case p.suspend != nil:
		return batchjob.Suspend(p.suspend, true)
	case p.remove != nil:
		// The Job may have been released meanwhile.
		return controller.Delete(p.remove, metav1.DeletePropagationForeground)
	}
	return nil
}

func (p *plan) reportFailure(w *observation) controller.Action {
	return func(_ context.Context, env *controller.Env) error {
		last := &p.status.History[len(p.status.History)-1]
		failed.WithLabelValues(w.sync.Namespace, w.sync.Name, last.Step).Inc()
		env.Event(w.sync, corev1.EventTypeWarning, openstackv1.StepFailed,
			fmt.Sprintf("step %s of release %s, attempt %d: %s", last.Step, last.Release, last.Attempt,
				batchjob.DescribeFailure(last.ExitCode, last.Log)))
		return nil
	}
}

func (p *plan) createJob(w *observation) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		job := newJob(w.sync, p.of, p.create)
		// An existing Job was created for this attempt.
		if err := env.Client.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("cannot create Job %s: %w", job.Name, err)
		}
		return nil
	}
}
