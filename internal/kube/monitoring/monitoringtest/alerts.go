// Package monitoringtest reads alerts as a test compares them: who is woken, after how long, and what Prometheus is asked. What an alert is
// raised for is shown by Prometheus's own engine (test/emitted); here nothing but Go is needed.
package monitoringtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Alert is what a test says of one.
type Alert struct {
	Severity, For string
	// Asks are the selectors of its expression in their order, each once. All are of its namespace, which is left out; those of nodes come
	// last.
	Asks []string
}

var (
	duration = regexp.MustCompile(`^[1-9][0-9]*[smhd]$`)
	name     = regexp.MustCompile(`^([A-Z][a-z]+)+$`)
	selector = regexp.MustCompile(`([a-z_]+)\{namespace="([^"]*)"((?:,[a-z_]+(?:=~?|!~)"[^"]*")*)\}`)
	// nodes are in no namespace, and neither are their metrics.
	nodes = regexp.MustCompile(`\b(?:kube_)?node_[a-z_]+(?:\{(?:[a-z_]+=~?"[^"]*",?)*\})?`)
	// grouping is what chooses labels; what else stands between selectors are numbers, operators, windows of time and names of functions.
	grouping = regexp.MustCompile(`\b(by|on|ignoring|without|group_left|group_right) ?\([a-z_, ]*\)`)
	between  = regexp.MustCompile(`^(?:M|\[[1-9][0-9]*[smhd]\]|[0-9.]+(?:e[0-9]+)?|==|!=|<=|>=|[-+*/<>(),]|\s|` +
		`\b(?:sum|max|count|rate|increase|time|vector|absent|or|and|unless|` +
		`topk|histogram_quantile|label_replace)\b)*$`)
	text = regexp.MustCompile(`"[^"]*"`)
)

// Alerts reads those of a PrometheusRule by their names. Each has a name, and sentences on what is wrong and on what to do.
func Alerts(t *testing.T, rules *unstructured.Unstructured) map[string]Alert {
	t.Helper()
	groups, _, err := unstructured.NestedSlice(rules.Object, "spec", "groups")
	if err != nil || len(groups) != 1 {
		t.Fatalf("%d groups: %v", len(groups), err)
	}
	group, _ := groups[0].(map[string]any)
	all, _, err := unstructured.NestedSlice(group, "rules")
	if err != nil {
		t.Fatal(err)
	}
	out, requested := map[string]Alert{}, map[string]string{}
	for _, r := range all {
		rule, _ := r.(map[string]any)
		read := func(path ...string) string {
			s, _, _ := unstructured.NestedString(rule, path...)
			return s
		}
		alert := read("alert")
		if _, twice := out[alert]; twice || !name.MatchString(alert) {
			t.Errorf("alert %q has no name of its own", alert)
		}
		if !duration.MatchString(read("for")) {
			t.Errorf("%s waits for %q", alert, read("for"))
		}
		summary, action := read("annotations", "summary"), read("annotations", "description")
		for _, message := range []string{summary, action} {
			if !strings.HasSuffix(message, ".") || strings.Count(message, " ") < 2 {
				t.Errorf("%s says %q, which is no sentence", alert, message)
			}
		}
		if other, twice := requested[summary]; twice {
			t.Errorf("%s says what %s says: %s", alert, other, summary)
		}
		requested[summary] = alert
		out[alert] = Alert{
			Severity: read("labels", "severity"), For: read("for"), Asks: Asks(t, alert, read("expr"), rules.GetNamespace()),
		}
	}
	return out
}

// Asks are the selectors of an expression, without the namespace that each of them has to have. What stands between them has to read like
// an expression.
func Asks(t *testing.T, where, expression, namespace string) []string {
	t.Helper()
	var out []string
	rest := selector.ReplaceAllStringFunc(expression, func(s string) string {
		m := selector.FindStringSubmatch(s)
		if m[2] != namespace {
			t.Errorf("%s looks into namespace %s: %s", where, m[2], expression)
		}
		one := m[1]
		if labels := strings.TrimPrefix(m[3], ","); labels != "" {
			one += "{" + labels + "}"
		}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
		return "M"
	})
	rest = nodes.ReplaceAllStringFunc(rest, func(s string) string {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
		return "M"
	})
	if rest = text.ReplaceAllString(grouping.ReplaceAllString(rest, ""), "0"); !between.MatchString(rest) || len(out) == 0 {
		t.Errorf("%s does not read like an expression: %s", where, expression)
	}
	return out
}
