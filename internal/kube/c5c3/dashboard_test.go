package c5c3

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
)

// Words of a panel and of a line: a legend names labels, too.
var (
	title  = regexp.MustCompile(`^[A-Z][A-Za-z0-9 ,:()]+$`)
	legend = regexp.MustCompile(`^(\{\{(name|kind|binary|command|condition|controller|result|state|step)\}\}|[A-Za-z ]+)+$`)
)

// TestDashboard tests that each panel has a title, a unit and distinct legends, that no two panels are equal, and that all selectors of
// alerts are shown.
func TestDashboard(t *testing.T) {
	o, err := Dashboard(companion, common.Monitoring{})
	if err != nil {
		t.Fatal(err)
	}
	conf := o.(*corev1.ConfigMap)
	var page struct {
		Title  string `json:"title"`
		Panels []struct {
			Title       string `json:"title"`
			FieldConfig struct {
				Defaults struct {
					Unit string `json:"unit"`
				} `json:"defaults"`
			} `json:"fieldConfig"`
			Targets []struct {
				Expr         string `json:"expr"`
				LegendFormat string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(conf.Data["companion-dashboard.json"]), &page); err != nil {
		t.Fatal(err)
	}
	if conf.Name != "companion-dashboard" || page.Title != "Companion of cloud" || len(page.Panels) != 27 {
		t.Errorf("%s: %q with %d panels", conf.Name, page.Title, len(page.Panels))
	}
	titles, exprs := map[string]bool{}, map[string]bool{}
	shown := map[string]bool{}
	for _, p := range page.Panels {
		unit := p.FieldConfig.Defaults.Unit
		// Ages and remaining times have the unit seconds.
		seconds := false
		legends := map[string]bool{}
		for _, l := range p.Targets {
			for _, selector := range monitoringtest.Selectors(t, p.Title, l.Expr, "cloud") {
				shown[selector] = true
			}
			if exprs[l.Expr] || legends[l.LegendFormat] || !legend.MatchString(l.LegendFormat) {
				t.Errorf("panel %q shows %q as %q", p.Title, l.Expr, l.LegendFormat)
			}
			exprs[l.Expr], legends[l.LegendFormat] = true, true
			seconds = seconds || strings.Contains(l.Expr, "time()")
		}
		if !title.MatchString(p.Title) || titles[p.Title] || len(p.Targets) == 0 || unit != map[bool]string{true: monitoring.Seconds, false: monitoring.Number}[seconds] {
			t.Errorf("panel %q in %q has %d lines", p.Title, unit, len(p.Targets))
		}
		titles[p.Title] = true
	}
	for name, alert := range monitoringtest.Alerts(t, Alerts(companion, common.Monitoring{}).(*unstructured.Unstructured)) {
		for _, selector := range alert.Selectors {
			metric, _, _ := strings.Cut(selector, "{")
			if !shown[selector] && !shown[metric] {
				t.Errorf("%s uses %s, which no panel shows", name, selector)
			}
		}
	}
}
