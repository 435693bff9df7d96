package monitoring

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
)

// TestLabels: Prometheus finds its objects by the labels that the platform says; ours are left as they were.
func TestLabels(t *testing.T) {
	ours := map[string]string{"app": "keystone", "prometheus": "ours"}
	meta := object.Meta{Name: "keystone", Namespace: "cloud", Labels: ours}
	conf := common.Monitoring{Enabled: true, Labels: map[string]common.LabelValue{"prometheus": "platform"}}
	want := map[string]string{"app": "keystone", "prometheus": "platform"}
	for _, got := range []map[string]string{Rules(meta, conf).GetLabels(), Service(meta, conf, "metrics", nil).GetLabels()} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if ours["prometheus"] != "ours" {
		t.Error("the caller's labels are changed")
	}
	if got := Rules(object.Meta{Name: "a"}, common.Monitoring{}).GetLabels(); len(got) > 0 {
		t.Errorf("labels of none: %v", got)
	}
}

func TestRules(t *testing.T) {
	got := Rules(object.Meta{Name: "keystone"}, common.Monitoring{}, Alert{
		Name: "Down", Severity: Critical, Expr: "up == 0", For: "2m", Summary: "It is down.", Action: "Look at it.",
	}).Object["spec"]
	want := object.Map{"groups": object.List{object.Map{"name": "keystone", "rules": object.List{object.Map{
		"alert": "Down", "expr": "up == 0", "for": "2m", "labels": object.Map{"severity": "critical"},
		"annotations": object.Map{"summary": "It is down.", "description": "Look at it."},
	}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestService(t *testing.T) {
	got := Service(object.Meta{Name: "companion"}, common.Monitoring{}, "metrics", map[string]string{"a": "b"}).Object["spec"]
	want := object.Map{"selector": object.Map{"matchLabels": object.Map{"a": "b"}}, "endpoints": object.List{object.Map{"port": "metrics", "interval": "30s"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
