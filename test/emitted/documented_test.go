package emitted

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// severities returns the severity of each alert in docs/troubleshooting/alerts.md. Alerts whose names depend on the spec share a row with
// their runbook.
func severities(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/troubleshooting/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (\[.*\)) \| (critical|warning) \| `)
	link := regexp.MustCompile(`\[(\w+)\]\(\.\./runbooks/(\w+)\.md\)`)
	out := map[string]string{}
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		for _, alert := range link.FindAllStringSubmatch(cells[1], -1) {
			if alert[1] != alert[2] || out[alert[1]] != "" {
				t.Errorf("docs/troubleshooting/alerts.md has %s twice, or links to another page", alert[1])
			}
			out[alert[1]] = cells[2]
		}
	}
	return out
}

// TestAlertsAreDocumented checks that the page of alerts lists exactly the runbooks of the alerts of the examples with their severities,
// and that each alert has a summary, a description and a duration.
func TestAlertsAreDocumented(t *testing.T) {
	duration := regexp.MustCompile(`^[1-9][0-9]*[smhd]$`)
	got := map[string]string{}
	for _, c := range watched(t) {
		for _, o := range c.Objects {
			if o.Kind != "PrometheusRule" {
				continue
			}
			m := o.Manifest.AsMap()
			if o.Wrapped {
				m, _, _ = unstructured.NestedMap(m, "spec", "forProvider", "manifest")
			}
			groups, _, _ := unstructured.NestedSlice(m, "spec", "groups")
			for _, group := range groups {
				rules, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
				for _, rule := range rules {
					r := rule.(map[string]any)
					requested := func(path ...string) string {
						s, _, _ := unstructured.NestedString(r, path...)
						return s
					}
					page := strings.TrimPrefix(requested("annotations", "runbook_url"), monitoring.Runbooks)
					got[strings.TrimSuffix(page, ".md")] = requested("labels", "severity")
					if !duration.MatchString(requested("for")) {
						t.Errorf("%s: alert %q of %s holds for %q", c.name, requested("alert"), o.Name, requested("for"))
					}
					for _, message := range []string{requested("annotations", "summary"), requested("annotations", "description")} {
						if !strings.HasSuffix(message, ".") {
							t.Errorf("%s: alert %q of %s has message %q, which is no sentence", c.name, requested("alert"), o.Name, message)
						}
					}
				}
			}
		}
	}
	for name, rules := range rulesOf(rareAlerts(t)) {
		got[name] = rules[0].Severity
	}
	if diff := cmp.Diff(severities(t), got); diff != "" {
		t.Errorf("alerts and who is woken (-docs/troubleshooting/alerts.md, +examples):\n%s", diff)
	}
	if names := slices.Sorted(maps.Keys(got)); len(names) < 40 {
		t.Errorf("only %d alerts: %v", len(names), names)
	}
}
