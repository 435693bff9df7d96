package monitoring

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// TestPlatformLabelsTakePrecedence tests that the labels of the platform are added, and take precedence.
func TestPlatformLabelsTakePrecedence(t *testing.T) {
	managed := map[string]string{"app": "keystone", "prometheus": "ours"}
	meta := object.Meta{Name: "keystone", Namespace: "cloud", Labels: managed}
	conf := common.Monitoring{Enabled: true, Labels: map[string]common.LabelValue{"prometheus": "platform"}}
	want := map[string]string{"app": "keystone", "prometheus": "platform"}
	for _, got := range []map[string]string{Rules(meta, conf).GetLabels(), Service(meta, conf, "metrics", nil).GetLabels()} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if managed["prometheus"] != "ours" {
		t.Error("the caller's labels are changed")
	}
	if got := Rules(object.Meta{Name: "a"}, common.Monitoring{}).GetLabels(); len(got) > 0 {
		t.Errorf("labels of none: %v", got)
	}
}

func TestRules(t *testing.T) {
	meta := object.Meta{Name: "keystone", Namespace: "cloud", Labels: map[string]string{"app.kubernetes.io/name": "identity"}}
	alert := Alert{Name: "Down", Severity: Critical, Expr: "up == 0", For: "2m", Summary: "It is down.", Action: "Look at it."}
	got := Rules(meta, common.Monitoring{}, alert).Object["spec"]
	want := object.Map{"groups": object.List{object.Map{"name": "keystone", "rules": object.List{object.Map{
		"alert": "Down", "expr": "up == 0", "for": "2m", "labels": object.Map{"severity": "critical", "namespace": "cloud", "service": "identity"},
		"annotations": object.Map{"summary": "It is down.", "description": "Look at it.", "runbook_url": Runbooks + "Down.md"},
	}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	alert.Name, alert.Runbook = "ArchiveDown", "Down"
	var urls []any
	for _, group := range Rules(meta, common.Monitoring{}, alert).Object["spec"].(object.Map)["groups"].(object.List) {
		for _, rule := range group.(object.Map)["rules"].(object.List) {
			urls = append(urls, rule.(object.Map)["annotations"].(object.Map)["runbook_url"])
		}
	}
	if diff := cmp.Diff([]any{Runbooks + "Down.md"}, urls); diff != "" {
		t.Errorf("an alert whose name depends on the spec has the runbook of its kind (-want +got):\n%s", diff)
	}
}

func TestService(t *testing.T) {
	got := Service(object.Meta{Name: "companion"}, common.Monitoring{}, "metrics", map[string]string{"a": "b"}).Object["spec"]
	want := object.Map{"selector": object.Map{"matchLabels": object.Map{"a": "b"}}, "endpoints": object.List{object.Map{"port": "metrics", "interval": "30s"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDashboard tests that Grafana's sidecar finds the dashboard, that its ID is unique, and that panels do not overlap.
func TestDashboard(t *testing.T) {
	type panel struct {
		GridPos struct {
			X int `json:"x"`
			Y int `json:"y"`
		} `json:"gridPos"`
		Targets []struct {
			RefID string `json:"refId"`
		} `json:"targets"`
	}
	read := func(namespace string) (uid string, panels []panel) {
		t.Helper()
		meta := object.Meta{Name: "companion-dashboard", Namespace: namespace, Labels: map[string]string{"app": "companion"}}
		conf := common.Monitoring{Labels: map[string]common.LabelValue{"prometheus": "platform"}}
		lines := []Query{{Expr: "a", Legend: "{{name}}"}, {Expr: "b"}}
		o, err := Dashboard(meta, conf, "Companion", Panel{Title: "One", Lines: lines}, Panel{Title: "Two"}, Panel{Title: "Three"})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"app": "companion", "prometheus": "platform", "grafana_dashboard": "1"}
		if diff := cmp.Diff(want, o.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		var dashboard struct {
			UID    string  `json:"uid"`
			Panels []panel `json:"panels"`
		}
		if err := json.Unmarshal([]byte(o.Data["companion-dashboard.json"]), &dashboard); err != nil {
			t.Fatal(err)
		}
		return dashboard.UID, dashboard.Panels
	}
	uid, panels := read("one")
	if other, _ := read("two"); uid == other || uid == "" || len(uid) > 40 {
		t.Errorf("dashboards %q and %q", uid, other)
	}
	positions := map[[2]int]bool{}
	for _, p := range panels {
		positions[[2]int{p.GridPos.X, p.GridPos.Y}] = true
	}
	if len(panels) != 3 || len(positions) != 3 || len(panels[0].Targets) != 2 || panels[0].Targets[1].RefID != "B" {
		t.Errorf("panels %+v", panels)
	}
}
