package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// series returns the values of the gauges and counters by their last label, as in a scrape.
func series(t *testing.T, m *Metrics) map[string]map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			labels, of := map[string]string{}, f.GetName()
			for _, l := range s.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if c, ok := labels["condition"]; ok {
				of = c
			}
			if out[of] == nil {
				out[of] = map[string]float64{}
			}
			out[of][labels["namespace"]+"/"+labels["name"]] = s.GetGauge().GetValue() + s.GetCounter().GetValue() + s.GetHistogram().GetSampleSum()
		}
	}
	return out
}

// TestMetrics: metrics are created and deleted with their object, and the metric of a removed condition is deleted.
func TestMetrics(t *testing.T) {
	m := NewMetrics("test")
	gauge, counter := m.Gauge("keys", "Number of keys."), m.Counter("writes_total", "Number of writes.")
	histogram := m.Histogram("duration_seconds", "How long it took.", []float64{1})
	other := newObject()
	other.Name = "nova"
	for _, o := range []*object{newObject(), other} {
		gauge.WithLabelValues(o.Namespace, o.Name).Set(3)
		counter.WithLabelValues(o.Namespace, o.Name).Add(2)
		histogram.WithLabelValues(o.Namespace, o.Name).Observe(5)
	}
	up, down := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}, metav1.Condition{Type: "BackedUp",
		Status: metav1.ConditionFalse}
	m.setMetrics(newObject(), nil, []metav1.Condition{up, down})
	both := func(v float64) map[string]float64 { return map[string]float64{"cloud/glance": v, "cloud/nova": v} }
	want := map[string]map[string]float64{
		"companion_test_keys": both(3), "companion_test_writes_total": both(2), "companion_test_duration_seconds": both(5),
		"Ready": {"cloud/glance": 1}, "BackedUp": {"cloud/glance": 0},
	}
	if diff := cmp.Diff(want, series(t, m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.setMetrics(newObject(), []metav1.Condition{up, down}, []metav1.Condition{up})
	delete(want, "BackedUp")
	if diff := cmp.Diff(want, series(t, m)); diff != "" {
		t.Errorf("when one applies no longer (-want +got):\n%s", diff)
	}
	m.forget(types.NamespacedName{Namespace: "elsewhere", Name: request.Name})
	if diff := cmp.Diff(want, series(t, m)); diff != "" {
		t.Errorf("when another one is gone (-want +got):\n%s", diff)
	}
	m.forget(request.NamespacedName)
	delete(want, "Ready")
	for _, of := range want {
		delete(of, "cloud/glance")
	}
	if diff := cmp.Diff(want, series(t, m)); diff != "" {
		t.Errorf("when it is gone (-want +got):\n%s", diff)
	}
}

// TestRegister: two kinds of one name are an error at the start.
func TestRegister(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := NewMetrics("test").Register(registry); err != nil {
		t.Fatal(err)
	}
	if NewMetrics("test").Register(registry) == nil {
		t.Error("registered twice")
	}
}

func TestUnix(t *testing.T) {
	if Unix(nil) != 0 || Unix(&metav1.Time{Time: now}) != 1e9 {
		t.Error("a wrong time")
	}
}

// TestMetricsHaveHelpAndBuckets: metrics have a help text, and a histogram has the requested buckets.
func TestMetricsHaveHelpAndBuckets(t *testing.T) {
	m := NewMetrics("test")
	for _, vector := range []prometheus.Collector{
		m.Gauge("a", "It is it.", "more"), m.Counter("b", "It is it."), m.Histogram("c", "It is it.", []float64{7}),
	} {
		all := make(chan *prometheus.Desc, 1)
		vector.Describe(all)
		if d := (<-all).String(); !strings.Contains(d, `help: "It is it."`) || !strings.Contains(d, "variableLabels: {namespace,name") {
			t.Error(d)
		}
	}
	m = NewMetrics("other")
	m.Histogram("c", "It is it.", []float64{7}).WithLabelValues("a", "b").Observe(6)
	registry := prometheus.NewPedanticRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	if b := families[0].GetMetric()[0].GetHistogram().GetBucket(); len(b) != 1 || b[0].GetUpperBound() != 7 || b[0].GetCumulativeCount() != 1 {
		t.Errorf("%v", b)
	}
}
