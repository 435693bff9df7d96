package keyrepository

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// Metrics are moments, not ages: time() - x is the age, and x - time() is what is left, at every scrape.
var (
	lastRotation = gauge("last_rotation_timestamp_seconds", "When the keys were written last.")
	nextRotation = gauge("next_rotation_timestamp_seconds", "When the keys rotate next; in the past, the rotation is overdue. 0: never.")
	lastBackup   = gauge("last_backup_timestamp_seconds", "When the keys were backed up last. 0: never.")
	activeKeys   = gauge("keys", "Number of keys.")
	neededKeys   = gauge("needed_keys", "Number of keys that schedule and token lifetime need.")
	conditions   = gauge("condition", "1 if the condition is true, else 0.", "condition")
	rotations    = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "rotations_total", Help: "Number of rotations.",
	}, repositoryLabels)
)

const metricPrefix = "companion_key_repository_"

var repositoryLabels = []string{"namespace", "name", "type"}

func gauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help},
		append(append([]string(nil), repositoryLabels...), more...))
}

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector {
	return []prometheus.Collector{lastRotation, nextRotation, lastBackup, activeKeys, neededKeys, conditions, rotations}
}

func labels(r *openstackv1.KeyRepository) []string { return []string{r.Namespace, r.Name, r.Spec.Type} }

// measure shows a status as metrics.
func measure(r *openstackv1.KeyRepository) {
	l, s := labels(r), r.Status
	lastRotation.WithLabelValues(l...).Set(unix(s.LastRotation))
	nextRotation.WithLabelValues(l...).Set(unix(s.NextRotation))
	lastBackup.WithLabelValues(l...).Set(unix(s.LastBackup))
	activeKeys.WithLabelValues(l...).Set(float64(len(s.Keys)))
	neededKeys.WithLabelValues(l...).Set(float64(s.NeededKeys))
	// A condition that applies no longer is not shown.
	for _, name := range []string{conditionBackedUp, conditionMigrated} {
		if meta.FindStatusCondition(s.Conditions, name) == nil {
			conditions.DeleteLabelValues(append(l, name)...)
		}
	}
	for _, c := range s.Conditions {
		value := 0.0
		if meta.IsStatusConditionTrue(s.Conditions, c.Type) {
			value = 1
		}
		conditions.WithLabelValues(append(l, c.Type)...).Set(value)
	}
}

// forget removes the metrics of a KeyRepository that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	for _, g := range []*prometheus.GaugeVec{lastRotation, nextRotation, lastBackup, activeKeys, neededKeys, conditions} {
		g.DeletePartialMatch(gone)
	}
	rotations.DeletePartialMatch(gone)
}

func unix(t *metav1.Time) float64 {
	if t == nil {
		return 0
	}
	return float64(t.Unix())
}
