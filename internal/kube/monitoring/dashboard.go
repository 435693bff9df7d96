package monitoring

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// dashboardLabel is the label by which Grafana's sidecar finds dashboards
// (https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards).
const dashboardLabel = "grafana_dashboard"

// Units of a panel, in Grafana's notation.
const (
	Seconds = "s"
	Number  = "short"
	Bytes   = "bytes"
)

// Panel is one panel of a dashboard.
type Panel struct {
	// Title, and the Unit of the values.
	Title, Unit string
	// Lines in it.
	Lines []Query
}

// Query shows one expression.
type Query struct {
	// Expr is the PromQL expression, Legend the template of its series names: {{name}}.
	Expr, Legend string
}

// The types of a dashboard in Grafana's format, with the fields that this project uses, sorted by name.
// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
type (
	dashboard struct {
		Editable      bool     `json:"editable"`
		Panels        []panel  `json:"panels"`
		Refresh       string   `json:"refresh"`
		SchemaVersion int      `json:"schemaVersion"`
		Tags          []string `json:"tags"`
		Templating    struct {
			List []variable `json:"list"`
		} `json:"templating"`
		Time struct {
			From string `json:"from"`
			To   string `json:"to"`
		} `json:"time"`
		Title string `json:"title"`
		UID   string `json:"uid"`
	}
	variable struct {
		Name  string `json:"name"`
		Query string `json:"query"`
		Type  string `json:"type"`
	}
	panel struct {
		Datasource  source `json:"datasource"`
		FieldConfig struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
			Overrides []string `json:"overrides"`
		} `json:"fieldConfig"`
		GridPos position `json:"gridPos"`
		ID      int      `json:"id"`
		Targets []target `json:"targets"`
		Title   string   `json:"title"`
		Type    string   `json:"type"`
	}
	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	position struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	target struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
		RefID  string `json:"refId"`
	}
)

// Dashboard returns a ConfigMap with a Grafana dashboard: two panels in a row, and a variable for the data source.
func Dashboard(meta object.Meta, conf common.Monitoring, title string, panels ...Panel) (*corev1.ConfigMap, error) {
	const width, height, digits = 12, 8, 20
	// The uid is stable and unique.
	d := dashboard{Refresh: "1m", SchemaVersion: 39, Tags: []string{"cobaltcore"}, Title: title}
	d.UID = names.Hash(digits, meta.Namespace, meta.Name)
	d.Templating.List = []variable{{Name: "datasource", Query: "prometheus", Type: "datasource"}}
	d.Time.From, d.Time.To = "now-7d", "now"
	for i, p := range panels {
		shown := panel{ID: i + 1, Targets: []target{}, Title: p.Title, Type: "timeseries"}
		shown.Datasource = source{Type: "prometheus", UID: "${datasource}"}
		shown.FieldConfig.Defaults.Unit, shown.FieldConfig.Overrides = p.Unit, []string{}
		shown.GridPos = position{H: height, W: width, X: i % 2 * width, Y: i / 2 * height}
		for j, l := range p.Lines {
			shown.Targets = append(shown.Targets, target{Expr: l.Expr, Legend: l.Legend, RefID: string(rune('A' + j))})
		}
		d.Panels = append(d.Panels, shown)
	}
	text, err := json.Marshal(d)
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
