package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// expressions returns the expressions of alerts and dashboards, by their location.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	w := workload.Workload{Name: "companion", Namespace: "cloud"}
	var alerts []any
	for _, o := range []runtime.Object{c5c3.Alerts(w, common.Monitoring{}), c5c3.ClusterCheckAlerts(w, common.Monitoring{})} {
		rules, _ := o.(*unstructured.Unstructured)
		groups, _, err := unstructured.NestedSlice(rules.Object, "spec", "groups")
		if err != nil {
			t.Fatal(err)
		}
		found, _ := groups[0].(map[string]any)["rules"].([]any)
		alerts = append(alerts, found...)
	}
	for _, a := range alerts {
		alert, _ := a.(map[string]any)
		out[fmt.Sprint("alert ", alert["alert"])] = fmt.Sprint(alert["expr"])
	}
	o, err := c5c3.Dashboard(w, common.Monitoring{})
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	for _, text := range o.(*corev1.ConfigMap).Data {
		if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range dashboard.Panels {
		for i, target := range p.Targets {
			out[fmt.Sprintf("panel %s, line %d", p.Title, i)] = target.Expr
		}
	}
	if len(alerts) < 10 || len(dashboard.Panels) < 10 {
		t.Fatalf("%d alerts, %d panels", len(alerts), len(dashboard.Panels))
	}
	return out
}

var (
	description = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	selector    = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher     = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// registered returns the labels of the companion's metrics, by name.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	if err := addAllControllers(); err != nil {
		t.Fatal(err)
	}
	registry, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("%T does not describe its metrics", metrics.Registry)
	}
	all := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(all)
		close(all)
	}()
	out := map[string][]string{}
	for d := range all {
		if m := description.FindStringSubmatch(d.String()); m != nil {
			out[m[1]] = strings.Split(m[2], ",")
		}
	}
	return out
}

// TestMonitoringUsesExistingMetrics: alerts and dashboards use existing metrics of the companion, with existing labels, and include all of
// its own.
func TestMonitoringUsesExistingMetrics(t *testing.T) {
	known, shown := registered(t), map[string]bool{}
	all := expressions(t)
	for _, where := range slices.Sorted(maps.Keys(all)) {
		found := selector.FindAllStringSubmatch(all[where], -1)
		if len(found) == 0 {
			t.Errorf("%s: no metric in %s", where, all[where])
		}
		for _, m := range found {
			metric := strings.TrimSuffix(m[1], "_bucket")
			shown[metric] = true
			if strings.HasPrefix(metric, "kube_") {
				continue // From kube-state-metrics.
			}
			labels, ok := known[metric]
			if !ok {
				t.Errorf("%s: the companion has no metric %s", where, metric)
				continue
			}
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				// Prometheus adds the first two.
				if !slices.Contains(append([]string{"namespace", "job"}, labels...), l[1]) {
					t.Errorf("%s: metric %s has no label %s: it has %v", where, metric, l[1], labels)
				}
			}
		}
	}
	for metric := range known {
		if strings.HasPrefix(metric, "companion_") && !shown[metric] {
			t.Errorf("nothing shows metric %s", metric)
		}
	}
}
