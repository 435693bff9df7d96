package c5c3

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// TestDashboard: each panel says what it shows, in which unit, and which line is which; no two show the same.
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
	if conf.Name != "companion-dashboard" || page.Title != "Companion of cloud" || len(page.Panels) != 17 {
		t.Errorf("%s: %q with %d panels", conf.Name, page.Title, len(page.Panels))
	}
	titles, exprs := map[string]bool{}, map[string]bool{}
	for _, p := range page.Panels {
		unit := p.FieldConfig.Defaults.Unit
		// What is an age, or the time until something happens, is counted in seconds.
		seconds := false
		legends := map[string]bool{}
		for _, l := range p.Targets {
			if l.Expr == "" || l.LegendFormat == "" || exprs[l.Expr] || legends[l.LegendFormat] || !strings.Contains(l.Expr, `namespace="cloud"`) {
				t.Errorf("panel %q shows %q as %q", p.Title, l.Expr, l.LegendFormat)
			}
			exprs[l.Expr], legends[l.LegendFormat] = true, true
			seconds = seconds || strings.Contains(l.Expr, "time()")
		}
		if p.Title == "" || titles[p.Title] || len(p.Targets) == 0 || unit != map[bool]string{true: monitoring.Seconds, false: monitoring.Number}[seconds] {
			t.Errorf("panel %q in %q has %d lines", p.Title, unit, len(p.Targets))
		}
		titles[p.Title] = true
	}
}
