package secretaggregate

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

var (
	aggregateLabels = []string{"namespace", "name"}

	ready = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "companion_secret_aggregate_ready", Help: "1 if the Secret holds what its sources make today, else 0.",
	}, aggregateLabels)
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "companion_secret_aggregate_writes_total", Help: "How often the Secret was written.",
	}, aggregateLabels)
)

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector { return []prometheus.Collector{ready, writes} }

// measure shows a status as metrics.
func measure(a *c5c3v1.SecretAggregate) {
	value := 0.0
	if meta.IsStatusConditionTrue(a.Status.Conditions, conditionReady) {
		value = 1
	}
	ready.WithLabelValues(a.Namespace, a.Name).Set(value)
}

// forget removes the metrics of a SecretAggregate that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	ready.DeletePartialMatch(gone)
	writes.DeletePartialMatch(gone)
}
