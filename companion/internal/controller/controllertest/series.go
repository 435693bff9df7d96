package controllertest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Series returns the values of the exported counters and gauges of an object, by the name of the metric: the sum over all other
// labels. Without an object, it returns the sums over all objects.
func Series(t testing.TB, metrics *controller.Metrics, object string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			selected := object == ""
			for _, l := range m.GetLabel() {
				selected = selected || l.GetName() == "name" && l.GetValue() == object
			}
			if selected {
				out[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return out
}
