package credentialrotation

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// Metrics are moments, not ages: time() - x is the age, and x - time() is what is left, at every scrape.
var (
	lastRotation = gauge("last_rotation_timestamp_seconds", "When the credential was replaced last. 0: never.")
	nextRotation = gauge("next_rotation_timestamp_seconds", "When it is replaced next; in the past, that is overdue. 0: never.")
	conditions   = gauge("condition", "1 if the condition is true, else 0.", "condition")
	rotations    = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "rotations_total", Help: "How often the credential was replaced.",
	}, rotationLabels)
)

const metricPrefix = "companion_credential_rotation_"

var rotationLabels = []string{"namespace", "name", "target"}

func gauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help},
		append(append([]string(nil), rotationLabels...), more...))
}

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector {
	return []prometheus.Collector{lastRotation, nextRotation, conditions, rotations}
}

func labels(r *c5c3v1.CredentialRotation) []string {
	return []string{r.Namespace, r.Name, r.Spec.Target}
}

// measure shows a status as metrics.
func measure(r *c5c3v1.CredentialRotation) {
	l, s := labels(r), r.Status
	lastRotation.WithLabelValues(l...).Set(unix(s.LastRotation))
	nextRotation.WithLabelValues(l...).Set(unix(s.NextRotation))
	for _, c := range s.Conditions {
		value := 0.0
		if meta.IsStatusConditionTrue(s.Conditions, c.Type) {
			value = 1
		}
		conditions.WithLabelValues(append(l, c.Type)...).Set(value)
	}
}

// forget removes the metrics of a CredentialRotation that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	for _, g := range []*prometheus.GaugeVec{lastRotation, nextRotation, conditions} {
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
