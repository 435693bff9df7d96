package controller

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// observedAt exports the time of the last observation of the objects of all kinds. A stale one means that their status is not reliable.
var observedAt = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "companion_last_observation_timestamp_seconds",
	Help: "Time of the last pass that read everything that the status of the object describes; 0: never.",
}, []string{"kind", "namespace", "name"})

// setObserved renews the time of the last observation in a status: with each other write, and otherwise once per interval, because a
// write makes Crossplane compose the object's owner again. before is the object before the pass changed its status.
func (k *Kind[T, W]) setObserved(before, o T, now time.Time, written bool) {
	previous := *k.ObservedAt(before)
	interval := cmp.Or(k.WriteInterval, freshness.WriteInterval)
	if written || previous == nil || previous.After(now) || now.Sub(previous.Time) >= interval || !equality.Semantic.DeepEqual(before, o) {
		*k.ObservedAt(o) = &metav1.Time{Time: now.Truncate(time.Second)}
	}
}

// exportObserved exports the time of the last observation.
func (k *Kind[T, W]) exportObserved(o T) {
	observedAt.WithLabelValues(k.Name, o.GetNamespace(), o.GetName()).Set(Unix(*k.ObservedAt(o)))
}

// forgetObserved deletes the exported time of a deleted object.
func (k *Kind[T, W]) forgetObserved(key client.ObjectKey) {
	observedAt.DeleteLabelValues(k.Name, key.Namespace, key.Name)
}
