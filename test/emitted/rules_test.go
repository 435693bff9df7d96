package emitted

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// find adds every text under a key, at any depth of a document.
func find(v any, key string, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if text, ok := value.(string); ok && k == key {
				found[text] = true
			}
			find(value, key, found)
		}
	case []any:
		for _, value := range v {
			find(value, key, found)
		}
	}
}

// TestPrometheusParsesExpressions checks that Prometheus's parser accepts every expression of alerts and dashboards.
func TestPrometheusParsesExpressions(t *testing.T) {
	tool := os.Getenv("PROMQL")
	if tool == "" {
		t.Skip("PROMQL names no parser of expressions; make test-package builds it")
	}
	expressions, dashboards := map[string]bool{}, 0
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			m := o.Manifest.AsMap()
			labels, _ := m["metadata"].(map[string]any)["labels"].(map[string]any)
			switch {
			case o.Kind == "PrometheusRule":
				find(m, "expr", expressions)
			case o.Kind == "ConfigMap" && labels["grafana_dashboard"] == "1":
				for _, text := range m["data"].(map[string]any) {
					var dashboard any
					if err := json.Unmarshal([]byte(text.(string)), &dashboard); err != nil {
						t.Fatal(err)
					}
					find(dashboard, "expr", expressions)
					dashboards++
				}
			}
		}
	}
	if len(expressions) < 40 || dashboards == 0 {
		t.Fatalf("%d expressions, %d dashboards", len(expressions), dashboards)
	}
	command := exec.Command(tool)
	command.Stdin = strings.NewReader(strings.Join(slices.Sorted(maps.Keys(expressions)), "\n"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	t.Logf("%d expressions", len(expressions))
	broken := exec.Command(tool)
	broken.Stdin = strings.NewReader("sum(up\n")
	if out, err := broken.CombinedOutput(); err == nil {
		t.Errorf("the parser accepts an invalid expression: %s", out)
	}
}
