package operators

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// RealOperator is an owner that is not faked: its program runs as processes of this machine, for the pods of its
// Deployments.
type RealOperator interface {
	// Owns reports whether the program reconciles a kind.
	Owns(kind schema.GroupKind) bool
	// Runs reports whether a pod is to run the program.
	Runs(pod *corev1.Pod) bool
	// Run runs the program for a pod, and returns its state.
	Run(ctx context.Context, pod *corev1.Pod) (Running, error)
	// Keep ends the processes in a namespace for other pods than these, and reports whether they have ended.
	Keep(namespace string, pods []types.UID) bool
}

// Running is the state of a program.
type Running struct {
	// Ready is the answer to the readiness probe.
	Ready bool
	// Restarts is the number of restarts after unexpected exits.
	Restarts int32
}

// noRealOperator is a RealOperator if everything is faked.
type noRealOperator struct{}

func (noRealOperator) Owns(schema.GroupKind) bool                        { return false }
func (noRealOperator) Runs(*corev1.Pod) bool                             { return false }
func (noRealOperator) Run(context.Context, *corev1.Pod) (Running, error) { return Running{}, nil }
func (noRealOperator) Keep(string, []types.UID) bool                     { return true }

// keep ends the programs of deleted pods in a namespace, or of all pods if the program's owner is paused there. It
// reports whether they have ended.
func (o *Operators) keep(namespace string) (bool, error) {
	if o.stopped(namespace) {
		return o.real.Keep(namespace, nil), nil
	}
	all, err := o.caches[pods].ByNamespace(namespace).List(labels.Everything())
	if err != nil {
		return false, err
	}
	var uids []types.UID
	for _, u := range asObjects(all) {
		uids = append(uids, u.GetUID())
	}
	return o.real.Keep(namespace, uids), nil
}

// endProgram ends the program of a deleted pod.
func (o *Operators) endProgram(i item) error {
	const pause = 100 * time.Millisecond
	finished, err := o.keep(i.namespace)
	if err == nil && !finished {
		o.queue.AddAfter(i, pause)
	}
	return err
}

// stopped reports whether an owner that the real program contains is paused in a namespace.
func (o *Operators) stopped(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h := range o.held {
		if h.namespace == namespace && o.real.Owns(h.kind) {
			return true
		}
	}
	return false
}
