package controller

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metrics of a kind: companion_<kind>_condition, by the name of the condition, and metrics that the kind adds. All have the
// labels namespace and name, and are deleted with their object.
type Metrics struct {
	prefix     string
	conditions *prometheus.GaugeVec
	vectors    []vector
}

// vector is a metric with labels.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// NewMetrics returns the metrics of a kind, such as database_sync.
func NewMetrics(kind string) *Metrics {
	m := &Metrics{prefix: "companion_" + kind + "_"}
	m.conditions = m.Gauge("condition", "1 if the condition is true, else 0.", "condition")
	return m
}

// Gauge adds a gauge. Times are timestamps, not ages: time() - x is the age, and x - time() is the remaining time, at every
// scrape.
func (m *Metrics) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.prefix + name, Help: help}, labelled(labels)))
}

// Counter adds a counter.
func (m *Metrics) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	return add(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.prefix + name, Help: help}, labelled(labels)))
}

// Histogram adds a histogram.
func (m *Metrics) Histogram(name, help string, buckets []float64) *prometheus.HistogramVec {
	return add(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.prefix + name, Help: help, Buckets: buckets}, labelled(nil)))
}

func add[V vector](m *Metrics, v V) V {
	m.vectors = append(m.vectors, v)
	return v
}

func labelled(more []string) []string { return append([]string{"namespace", "name"}, more...) }

// Register registers all metrics.
func (m *Metrics) Register(registry prometheus.Registerer) error {
	for _, v := range m.vectors {
		if err := registry.Register(v); err != nil {
			return err
		}
	}
	return nil
}

// setMetrics exports conditions, and deletes metrics of conditions that were removed.
func (m *Metrics) setMetrics(o client.Object, before, now []metav1.Condition) {
	for _, c := range slices.Concat(before, now) {
		switch {
		case meta.IsStatusConditionTrue(now, c.Type):
			m.conditions.WithLabelValues(o.GetNamespace(), o.GetName(), c.Type).Set(1)
		case meta.FindStatusCondition(now, c.Type) != nil:
			m.conditions.WithLabelValues(o.GetNamespace(), o.GetName(), c.Type).Set(0)
		default:
			m.conditions.DeleteLabelValues(o.GetNamespace(), o.GetName(), c.Type)
		}
	}
}

// forget deletes the metrics of a deleted object.
func (m *Metrics) forget(key client.ObjectKey) {
	for _, v := range m.vectors {
		v.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
	}
}

// Unix returns a time for metrics; 0 means never.
func Unix(t *metav1.Time) float64 {
	if t == nil {
		return 0
	}
	return float64(t.Unix())
}
