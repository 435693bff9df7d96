package emitted

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// expanded matches a reference to a variable that Kubernetes expands: an odd number of $ precedes the parenthesis.
var expanded = regexp.MustCompile(`(^|[^$])(\$\$)*\$\(HOSTILE\)`)

// TestTextOfTenantsIsNotExpanded tests that Kubernetes does not replace a reference to a variable in a tenant's text by the value of that
// variable, which may be a secret.
func TestTextOfTenantsIsNotExpanded(t *testing.T) {
	escaped := false
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			for _, p := range pods(o.Manifest.AsMap()) {
				for _, text := range expandedTexts(&p) {
					if expanded.MatchString(text) {
						t.Errorf("%s: %s %s: Kubernetes expands %s; escape it with workload.Literal", c.name, o.Kind, o.Name, text)
					}
					escaped = escaped || strings.Contains(text, "$(HOSTILE)")
				}
			}
		}
	}
	if !escaped {
		t.Error("no pod has text of a tenant; a claim with such text has to reach the environment of a pod")
	}
}

// expandedTexts returns the texts of a pod in which Kubernetes expands references to variables.
func expandedTexts(p *corev1.PodSpec) []string {
	var out []string
	for _, c := range append(p.InitContainers, p.Containers...) {
		out = append(append(out, c.Command...), c.Args...)
		for _, e := range c.Env {
			out = append(out, e.Value)
		}
	}
	return out
}
