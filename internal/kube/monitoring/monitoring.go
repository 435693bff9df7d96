// Package monitoring builds objects of the Prometheus operator.
package monitoring

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

const apiVersion = "monitoring.coreos.com/v1"

// Severities of alerts: critical requires immediate action, warning can wait until working hours.
const (
	Critical = "critical"
	Warning  = "warning"
)

// Runbooks is the address of the pages with the steps for each alert. Each page has the name of its alert.
const Runbooks = "https://github.com/c5c3/crossplane-cobaltcore/blob/main/docs/runbooks/"

// Alert describes an alerting rule.
type Alert struct {
	// Name in CamelCase, Severity one of the constants.
	Name, Severity string
	// Runbook is the name of the page in docs/runbooks. Empty: the name of the alert.
	Runbook string
	// Expr is the PromQL expression, For how long it has to hold: 5m.
	Expr, For string
	// Summary states the problem in one sentence, Action the first diagnostic step.
	Summary, Action string
}

// Rules builds a PrometheusRule. Labels contain the namespace, which belongs to one claim (status.instance), and the service: an
// expression may have lost both, and several control planes have alerts with the same name.
func Rules(meta object.Meta, conf common.Monitoring, alerts ...Alert) *unstructured.Unstructured {
	rules := object.List{}
	for _, a := range alerts {
		labels := object.Map{"severity": a.Severity, "namespace": meta.Namespace}
		if service := meta.Labels["app.kubernetes.io/name"]; service != "" {
			labels["service"] = service
		}
		rules = append(rules, object.Map{
			"alert":  a.Name,
			"expr":   a.Expr,
			"for":    a.For,
			"labels": labels,
			"annotations": object.Map{
				"summary": a.Summary, "description": a.Action, "runbook_url": Runbooks + cmp.Or(a.Runbook, a.Name) + ".md",
			},
		})
	}
	meta.Labels = withLabels(meta.Labels, conf)
	return object.New(apiVersion, "PrometheusRule", meta, object.Map{
		"groups": object.List{object.Map{"name": meta.Name, "rules": rules}},
	})
}

// Service builds a ServiceMonitor for a named port of the Services with the given labels.
func Service(meta object.Meta, conf common.Monitoring, port string, selector map[string]string) *unstructured.Unstructured {
	meta.Labels = withLabels(meta.Labels, conf)
	return object.New(apiVersion, "ServiceMonitor", meta, object.Map{
		"selector":  object.Map{"matchLabels": object.Strings(selector)},
		"endpoints": object.List{object.Map{"port": port, "interval": "30s"}},
	})
}

// Authority is the certificate authority for metrics served by https.
type Authority struct {
	// Secret whose ca.crt signed the certificate, Host the name in it.
	Secret, Host string
}

// ServiceTLS builds a ServiceMonitor like Service, for metrics served by https.
func ServiceTLS(
	meta object.Meta, conf common.Monitoring, port string, selector map[string]string, authority Authority,
) *unstructured.Unstructured {
	meta.Labels = withLabels(meta.Labels, conf)
	return object.New(apiVersion, "ServiceMonitor", meta, object.Map{
		"selector": object.Map{"matchLabels": object.Strings(selector)},
		"endpoints": object.List{object.Map{"port": port, "interval": "30s", "scheme": "https", "tlsConfig": object.Map{
			"ca":         object.Map{"secret": object.Map{"name": authority.Secret, "key": "ca.crt"}},
			"serverName": authority.Host,
		}}},
	})
}

func withLabels(labels map[string]string, conf common.Monitoring) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	for k, v := range conf.Labels {
		out[k] = string(v)
	}
	return out
}

// VolumesFilling returns alerts on volumes of a namespace, by a regular expression: before they are full, so that the consequence can be
// avoided, and when they are. The names of the alerts start with prefix.
func VolumesFilling(prefix, namespace, volumes, consequence, action string) []Alert {
	in := fmt.Sprintf(`{namespace=%q,persistentvolumeclaim=~%q}`, namespace, volumes)
	free := "kubelet_volume_stats_available_bytes" + in + " / kubelet_volume_stats_capacity_bytes" + in
	return []Alert{
		{
			Name: prefix + "VolumeFilling", Severity: Warning, For: "15m", Expr: free + " < 0.2",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is 80 % full.", Action: action,
		},
		{
			Name: prefix + "VolumeFull", Severity: Critical, For: "5m", Expr: free + " < 0.05",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is 95 % full. When it is full, " + consequence + ".",
			Action:  action,
		},
	}
}
