package identitycheck

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

var (
	checkLabels = []string{"namespace", "name"}

	reachable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "companion_identity_check_reachable", Help: "1 if Keystone gives tokens, 0 if it has failed to three times in a row.",
	}, checkLabels)
	lastToken = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "companion_identity_check_last_token_timestamp_seconds", Help: "When Keystone last gave a token.",
	}, checkLabels)
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "companion_identity_check_failures_total", Help: "How many logins have failed.",
	}, checkLabels)
	duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "companion_identity_check_duration_seconds", Help: "How long a login took that gave a token.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30},
	}, checkLabels)
)

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector {
	return []prometheus.Collector{reachable, lastToken, failures, duration}
}

// measure shows a status as metrics.
func measure(c *openstackv1.IdentityCheck) {
	value := 0.0
	if meta.IsStatusConditionTrue(c.Status.Conditions, conditionReachable) {
		value = 1
	}
	reachable.WithLabelValues(c.Namespace, c.Name).Set(value)
}

// forget removes the metrics of an IdentityCheck that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	reachable.DeletePartialMatch(gone)
	lastToken.DeletePartialMatch(gone)
	failures.DeletePartialMatch(gone)
	duration.DeletePartialMatch(gone)
}
