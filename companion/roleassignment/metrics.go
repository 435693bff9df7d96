package roleassignment

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

var (
	assignmentLabels = []string{"namespace", "name"}

	available = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "companion_role_assignment_available", Help: "1 if the role is given, else 0.",
	}, assignmentLabels)
	given = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "companion_role_assignment_given_total", Help: "How often the role was given: more than once if somebody took it away.",
	}, assignmentLabels)
)

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector { return []prometheus.Collector{available, given} }

// measure shows a status as metrics.
func measure(a *openstackv1.RoleAssignment) {
	value := 0.0
	if meta.IsStatusConditionTrue(a.Status.Conditions, conditionAvailable) {
		value = 1
	}
	available.WithLabelValues(a.Namespace, a.Name).Set(value)
}

// forget removes the metrics of a RoleAssignment that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	available.DeletePartialMatch(gone)
	given.DeletePartialMatch(gone)
}
