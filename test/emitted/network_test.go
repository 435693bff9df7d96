package emitted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// operated are the pods that operators make of their objects, by kind: with the labels that their released sources give them.
var operated = map[string][]labels.Set{
	"MariaDB": {
		{"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": "mariadb"},
	},
	"MaxScale": {
		{"app.kubernetes.io/name": "maxscale", "app.kubernetes.io/instance": "maxscale"},
	},
	"PhysicalBackup": {
		{"batch.kubernetes.io/job-name": "mariadb-20260101"},
	},
	"RabbitmqCluster": {
		{"app.kubernetes.io/name": "rabbitmq", "app.kubernetes.io/component": "rabbitmq", "app.kubernetes.io/part-of": "rabbitmq"},
	},
	"Valkey": {
		{"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "valkey", "app.kubernetes.io/component": "node"},
	},
}

// podLabels are the labels of every pod that becomes of an object, however deep its template lies.
func podLabels(kind string, object map[string]any) []labels.Set {
	out := slices.Clone(operated[kind])
	if enabled, _ := at(object, "spec", "metrics", "enabled").(bool); enabled && (kind == "MariaDB" || kind == "MaxScale") {
		out = append(out, labels.Set{"app.kubernetes.io/name": "exporter", "app.kubernetes.io/instance": strings.ToLower(kind) + "-metrics"})
	}
	var find func(any)
	find = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if l, ok := at(v, "template", "metadata", "labels").(map[string]any); ok && at(v, "template", "spec", "containers") != nil {
				set := labels.Set{}
				for k, value := range l {
					set[k] = fmt.Sprint(value)
				}
				out = append(out, set)
			}
			for _, member := range v {
				find(member)
			}
		case []any:
			for _, item := range v {
				find(item)
			}
		}
	}
	find(object)
	return out
}

func at(v any, path ...string) any {
	for _, field := range path {
		m, _ := v.(map[string]any)
		v = m[field]
	}
	return v
}

// anywhere are the policies that let pods speak to addresses that only the outside knows, with what lies there; and those that take what comes
// from an address that nobody knows.
var anywhere = map[string]string{
	"companion Egress":       "API server, Keystone's public address",
	"companion Ingress":      "Prometheus",
	"http-challenge Ingress": "an authority's question for a certificate, through the Ingress controller",
	"keystone Egress":        "directories, identity providers",
	"keystone Ingress":       "a gateway, unless the platform names its namespaces",
	"mariadb Egress":         "API server",
	"operator-jobs Egress":   "object store",
	"rabbitmq Egress":        "API server",
}

// TestNetworkPolicies: one policy denies everything, every pod has another that lets through what it needs, and none lets through everything.
func TestNetworkPolicies(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			var policies []networkingv1.NetworkPolicy
			found := map[string]bool{}
			denies, last := 0, 0
			for _, o := range c.Objects {
				object := o.Manifest.AsMap()
				if inner, ok := at(object, "spec", "forProvider", "manifest").(map[string]any); ok {
					object = inner
				}
				for _, l := range podLabels(o.Kind, object) {
					found[l.String()] = true
				}
				if o.Kind != "NetworkPolicy" {
					continue
				}
				p := networkingv1.NetworkPolicy{}
				if data, err := json.Marshal(object); err != nil || json.Unmarshal(data, &p) != nil {
					t.Fatalf("cannot read %v", object)
				}
				if len(p.Spec.PolicyTypes) != 2 {
					t.Errorf("%s is about %v", p.Name, p.Spec.PolicyTypes)
				}
				if len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0 {
					if denies++; len(p.Spec.Ingress)+len(p.Spec.Egress) > 0 {
						t.Errorf("%s lets something through to every pod", p.Name)
					}
					if o.Stage < last {
						t.Errorf("%s comes in stage %d, before policies of stage %d", p.Name, o.Stage, last)
					}
					continue
				}
				last = max(last, o.Stage)
				policies = append(policies, p)
				checkOpen(t, p)
			}
			if denies != 1 {
				t.Errorf("%d policies deny everything, want one", denies)
			}
			if len(found) < 6 {
				t.Errorf("only %d kinds of pods", len(found))
			}
			for pod := range found {
				set, err := labels.ConvertSelectorToLabelsMap(pod)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(policies, func(p networkingv1.NetworkPolicy) bool {
					s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
					return err == nil && s.Matches(set)
				}) {
					t.Errorf("no policy lets anything through to %s", pod)
				}
			}
		})
	}
}

// checkOpen finds rules that let through more than some ports, or from or to everywhere without a reason.
func checkOpen(t *testing.T, p networkingv1.NetworkPolicy) {
	t.Helper()
	for i, r := range p.Spec.Ingress {
		if len(r.Ports) == 0 || len(r.From) == 0 && anywhere[p.Name+" Ingress"] == "" {
			t.Errorf("rule %d of %s lets in too much", i, p.Name)
		}
	}
	for i, r := range p.Spec.Egress {
		names := !slices.ContainsFunc(r.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() != 53 })
		if len(r.Ports) == 0 || len(r.To) == 0 && !names && anywhere[p.Name+" Egress"] == "" {
			t.Errorf("rule %d of %s lets out too much", i, p.Name)
		}
	}
}
