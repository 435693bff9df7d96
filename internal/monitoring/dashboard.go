package monitoring

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
)

// dashboardLabel is the one by which Grafana's sidecar finds dashboards
// (https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards).
const dashboardLabel = "grafana_dashboard"

// Units of a panel, as Grafana calls them.
const (
	Seconds = "s"
	Number  = "short"
)

// Panel is one picture of a dashboard.
type Panel struct {
	// Title, and the Unit of the values.
	Title, Unit string
	// Lines in it.
	Lines []Line
}

// Line shows one expression.
type Line struct {
	// Expr is the PromQL expression, Legend what its series are called: {{name}}.
	Expr, Legend string
}

// Dashboard makes a ConfigMap with a dashboard of Grafana: two panels in a row, whose data source is chosen there.
func Dashboard(meta object.Meta, conf common.Monitoring, title string, panels ...Panel) (*corev1.ConfigMap, error) {
	const width, height, digits = 12, 8, 20
	source := object.Map{"type": "prometheus", "uid": "${datasource}"}
	list := object.List{}
	for i, p := range panels {
		targets := object.List{}
		for j, l := range p.Lines {
			targets = append(targets, object.Map{"refId": string(rune('A' + j)), "expr": l.Expr, "legendFormat": l.Legend})
		}
		list = append(list, object.Map{
			"id": i + 1, "type": "timeseries", "title": p.Title, "datasource": source, "targets": targets,
			"gridPos":     object.Map{"w": width, "h": height, "x": i % 2 * width, "y": i / 2 * height},
			"fieldConfig": object.Map{"defaults": object.Map{"unit": p.Unit}, "overrides": object.List{}},
		})
	}
	text, err := json.Marshal(object.Map{
		// The same in every copy, and no other's.
		"uid": names.Hash(digits, meta.Namespace, meta.Name), "title": title, "tags": object.List{"cobaltcore"},
		"schemaVersion": 39, "editable": false, "refresh": "1m", "time": object.Map{"from": "now-7d", "to": "now"},
		"templating": object.Map{"list": object.List{object.Map{"name": "datasource", "type": "datasource", "query": "prometheus"}}},
		"panels":     list,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot write the dashboard: %w", err)
	}
	labels := withLabels(meta.Labels, conf)
	labels[dashboardLabel] = "1"
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: labels},
		Data:       map[string]string{meta.Name + ".json": string(text) + "\n"},
	}, nil
}
