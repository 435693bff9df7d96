package emitted

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/test/crds"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// cloud returns a case as input of wiring.Check.
func cloud(c testCase, set *crds.Set) wiring.Cloud {
	out := wiring.Cloud{Given: c.inputs, HasTLS: func(group, kind string) bool {
		return set.HasField(schema.GroupKind{Group: group, Kind: kind}, "spec", "tls")
	}}
	for _, o := range c.Objects {
		out.Objects = append(out.Objects, wiring.Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
	}
	return out
}

// TestComposedObjectsHaveNoFindings checks that wiring.Check has no findings.
func TestComposedObjectsHaveNoFindings(t *testing.T) {
	set := crds.Load(t)
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, finding := range wiring.Check(cloud(c, set)) {
				t.Error(finding)
			}
		})
	}
}

// TestDetectsMissingTLSFields checks that a missing spec.tls is found in kinds that have the field, and that these kinds are known.
func TestDetectsMissingTLSFields(t *testing.T) {
	set := crds.Load(t)
	c := cloud(caseOf(t, "full.yaml 2025.2"), set)
	for _, kind := range []string{"MariaDB", "MaxScale", "RabbitmqCluster", "Valkey"} {
		for _, o := range c.Objects {
			m := o.Manifest
			spec, _ := m["spec"].(map[string]any)
			if inner, ok := spec["forProvider"].(map[string]any); ok {
				m = inner["manifest"].(map[string]any)
			}
			if m["kind"] == kind {
				delete(m["spec"].(map[string]any), "tls")
			}
		}
		if !slices.ContainsFunc(wiring.Check(c), func(f string) bool {
			return strings.HasPrefix(f, kind+" ") && strings.HasSuffix(f, "it has no spec.tls.")
		}) {
			t.Errorf("no finding about %s without TLS", kind)
		}
	}
}
