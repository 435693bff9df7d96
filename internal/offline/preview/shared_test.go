package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestSharedName checks that claims of different kinds in one namespace have different names.
func TestSharedName(t *testing.T) {
	other := Usage{kind: "StorageCluster", namespace: "tenant-a", name: "cloud"}
	for name, tc := range map[string]struct {
		reason string
		own    Usage
		want   string
	}{
		"OtherKind": {
			"Both would create the same namespace.", Usage{kind: "ControlPlaneCluster", namespace: "tenant-a", name: "cloud"},
			"metadata.name: the StorageCluster in namespace tenant-a has the same name, and the objects of both would have the same names; choose another name",
		},
		"OtherName":      {reason: "The names differ.", own: Usage{kind: "ControlPlaneCluster", namespace: "tenant-a", name: "cloud2"}},
		"OtherNamespace": {reason: "The namespace is part of the names.", own: Usage{kind: "ControlPlaneCluster", namespace: "tenant-b", name: "cloud"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := sharedName(other, tc.own); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOverlap checks whether a node can fit two choices of nodes, as the scheduler reads them.
func TestOverlap(t *testing.T) {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	not := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: values}
	}
	selectors := func(all ...[]corev1.NodeSelectorRequirement) []corev1.NodeSelectorTerm {
		out := make([]corev1.NodeSelectorTerm, len(all))
		for i, a := range all {
			out[i].MatchExpressions = a
		}
		return out
	}
	type one = []corev1.NodeSelectorRequirement
	for name, tc := range map[string]struct {
		reason string
		a, b   []corev1.NodeSelectorTerm
		want   bool
	}{
		"the same":        {"Every node fits both.", selectors(one{in("zone", "a")}), selectors(one{in("zone", "a")}), true},
		"one narrower":    {"Its nodes fit the other, too.", selectors(one{in("zone", "a")}), selectors(one{in("zone", "a"), in("disk", "ssd")}), true},
		"other labels":    {"A node can have both.", selectors(one{in("zone", "a")}), selectors(one{in("disk", "ssd")}), true},
		"other values":    {"A label has one value.", selectors(one{in("zone", "a")}), selectors(one{in("zone", "b")}), false},
		"excluded":        {"The second does not take it.", selectors(one{in("zone", "a")}), selectors(one{not("zone", "a")}), false},
		"excluded before": {"The order does not matter.", selectors(one{not("zone", "a")}), selectors(one{in("zone", "a")}), false},
		"another exclusion": {
			"It takes all other zones.", selectors(one{in("zone", "a")}), selectors(one{not("zone", "b")}), true,
		},
		"two exclusions":   {"A third zone fits both.", selectors(one{not("zone", "a")}), selectors(one{not("zone", "b")}), true},
		"one of two terms": {"One term is enough.", selectors(one{in("zone", "a")}, one{in("zone", "c")}), selectors(one{in("zone", "c")}), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := overlap(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
