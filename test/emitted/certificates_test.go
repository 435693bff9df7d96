package emitted

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// expiry matches the selector of the metric of cert-manager in an alert.
var expiry = regexp.MustCompile(`certmanager_certificate_expiration_timestamp_seconds\{([^}]*)\}`)

// TestCertificatesHaveAlerts checks that an alert selects each Certificate of a monitored claim, including the authorities, and the
// certificates of pools in the namespace of their control plane.
func TestCertificatesHaveAlerts(t *testing.T) {
	type certificate struct{ kind, namespace, name string }
	found, selectors := map[certificate]bool{}, map[string]bool{}
	for _, c := range watched(t) {
		monitored := false
		for _, o := range c.Objects {
			if o.Kind == "PrometheusRule" {
				monitored = true
				for _, rules := range rulesOf(o.Manifest.AsMap()) {
					for _, r := range rules {
						for _, m := range expiry.FindAllStringSubmatch(r.Expr, -1) {
							selectors[m[1]] = true
						}
					}
				}
			}
		}
		for _, o := range c.Objects {
			u := unstructured.Unstructured{Object: o.Manifest.AsMap()}
			if monitored && u.GetKind() == "Certificate" {
				found[certificate{c.name, u.GetNamespace(), u.GetName()}] = true
			}
		}
	}
	for c := range found {
		if !selected(t, selectors, c.namespace, c.name) {
			t.Errorf("%s: no alert selects Certificate %s of namespace %s", c.kind, c.name, c.namespace)
		}
	}
	if len(found) == 0 {
		t.Error("no claim has a Certificate")
	}
}

// selected reports whether a selector matches a Certificate.
func selected(t *testing.T, selectors map[string]bool, namespace, name string) bool {
	t.Helper()
	for selector := range selectors {
		matches := true
		for label := range strings.SplitSeq(selector, ",") {
			key, value, _ := strings.Cut(label, "=")
			pattern, isPattern := strings.CutPrefix(value, "~")
			pattern = strings.Trim(pattern, `"`)
			if !isPattern {
				pattern = regexp.QuoteMeta(pattern)
			}
			actual := map[string]string{"namespace": namespace, "name": name}[key]
			// Prometheus anchors patterns.
			matches = matches && regexp.MustCompile("^(?:"+pattern+")$").MatchString(actual)
		}
		if matches {
			return true
		}
	}
	return false
}
