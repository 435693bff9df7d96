package databasesync

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

const metricPrefix = "companion_database_sync_"

var syncLabels = []string{"namespace", "name"}

// The moment of the last success is a timestamp, not an age: time() - x is the age at every scrape.
var (
	runningSteps = gauge("running", "Number of schema steps that run: 0 or 1.")
	lastSuccess  = gauge("last_success_timestamp_seconds", "When a schema step succeeded last. 0: never, as far as is known.")
	conditions   = gauge("condition", "1 if the condition is true, else 0.", "condition")
	failed       = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "failures_total", Help: "Number of attempts of schema steps that failed.",
	}, append(append([]string(nil), syncLabels...), "step"))
)

func gauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help},
		append(append([]string(nil), syncLabels...), more...))
}

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector {
	return []prometheus.Collector{runningSteps, lastSuccess, conditions, failed}
}

// measure shows a DatabaseSync as metrics.
func measure(s *openstackv1.DatabaseSync) {
	runs := 0.0
	if open(s.Status.History) != nil {
		runs = 1
	}
	runningSteps.WithLabelValues(s.Namespace, s.Name).Set(runs)
	success := 0.0
	for _, r := range s.Status.History {
		if r.Result == openstackv1.StepSucceeded && r.Finished != nil {
			success = max(success, float64(r.Finished.Unix()))
		}
	}
	lastSuccess.WithLabelValues(s.Namespace, s.Name).Set(success)
	for _, c := range s.Status.Conditions {
		value := 0.0
		if c.Status == metav1.ConditionTrue {
			value = 1
		}
		conditions.WithLabelValues(s.Namespace, s.Name, c.Type).Set(value)
	}
}

// forget removes the metrics of a DatabaseSync that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	for _, g := range []*prometheus.GaugeVec{runningSteps, lastSuccess, conditions} {
		g.DeletePartialMatch(gone)
	}
	failed.DeletePartialMatch(gone)
}
