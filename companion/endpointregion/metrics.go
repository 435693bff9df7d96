package endpointregion

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

var (
	regionLabels = []string{"namespace", "name"}

	available = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "companion_endpoint_region_available", Help: "1 if the endpoint is in its region, else 0.",
	}, regionLabels)
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "companion_endpoint_region_writes_total",
		Help: "How often the endpoint was put into its region: more than once if somebody took it out.",
	}, regionLabels)
)

// collectors are all metrics of this controller.
func collectors() []prometheus.Collector { return []prometheus.Collector{available, writes} }

// measure shows a status as metrics.
func measure(e *openstackv1.EndpointRegion) {
	value := 0.0
	if meta.IsStatusConditionTrue(e.Status.Conditions, conditionAvailable) {
		value = 1
	}
	available.WithLabelValues(e.Namespace, e.Name).Set(value)
}

// forget removes the metrics of an EndpointRegion that is gone.
func forget(namespace, name string) {
	gone := prometheus.Labels{"namespace": namespace, "name": name}
	available.DeletePartialMatch(gone)
	writes.DeletePartialMatch(gone)
}
