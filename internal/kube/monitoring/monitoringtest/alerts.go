// Package monitoringtest reads alerts for comparison in tests: severity, duration, and the selectors of the expression. Whether an alert
// fires is tested with Prometheus's own engine (test/emitted); this package only needs Go.
package monitoringtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Alert is the part of an alert that tests compare.
type Alert struct {
	Severity, For string
	// Selectors lists the distinct selectors of the expression in order, without the namespace of the rule, which all of them have. Selectors
	// of metrics of nodes come last.
	Selectors []string
}

var (
	duration = regexp.MustCompile(`^[1-9][0-9]*[smhd]$`)
	name     = regexp.MustCompile(`^([A-Z]+[a-z]+)+$`)
	selector = regexp.MustCompile(`([a-z_]+)\{namespace="([^"]*)"((?:,[a-z_]+(?:=~?|!~)"[^"]*")*)\}`)
	// nodes matches metrics of nodes, which have no namespace.
	nodes = regexp.MustCompile(`\b(?:kube_)?node_[a-z_]+(?:\{(?:[a-z_]+=~?"[^"]*",?)*\})?`)
	// grouping matches label lists; between matches numbers, operators, time windows and function names between selectors.
	grouping = regexp.MustCompile(`\b(by|on|ignoring|without|group_left|group_right) ?\([a-z_, ]*\)`)
	between  = regexp.MustCompile(`^(?:M|\[[1-9][0-9]*[smhd]\]|[0-9.]+(?:e[0-9]+)?|==|!=|<=|>=|[-+*/<>(),]|\s|` +
		`\b(?:sum|max|count|rate|increase|time|vector|absent|or|and|unless|` +
		`topk|histogram_quantile|label_replace)\b)*$`)
	text = regexp.MustCompile(`"[^"]*"`)
)

// Alerts returns the alerts of a PrometheusRule by name. It checks that each has a unique name, and sentences as summary and description.
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
		if _, exists := out[alert]; exists || !name.MatchString(alert) {
			t.Errorf("alert %q has an invalid or duplicate name", alert)
		}
		if !duration.MatchString(read("for")) {
			t.Errorf("%s waits for %q", alert, read("for"))
		}
		summary, action := read("annotations", "summary"), read("annotations", "description")
		for _, message := range []string{summary, action} {
			if !strings.HasSuffix(message, ".") || strings.Count(message, " ") < 2 {
				t.Errorf("%s: %q is not a sentence", alert, message)
			}
		}
		if other, exists := requested[summary]; exists {
			t.Errorf("%s has the same summary as %s: %s", alert, other, summary)
		}
		requested[summary] = alert
		out[alert] = Alert{
			Severity: read("labels", "severity"), For: read("for"), Selectors: Selectors(t, alert, read("expr"), rules.GetNamespace()),
		}
	}
	return out
}

// Selectors returns the selectors of an expression, without the namespace that each of them must have. It checks that the text between them
// looks like an expression.
func Selectors(t *testing.T, where, expression, namespace string) []string {
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
