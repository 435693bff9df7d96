package infrastructure

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// storeAlerts returns alerts on metrics of kube-state-metrics and Valkey's exporter (https://github.com/oliver006/redis_exporter).
func (inf *Infrastructure) storeAlerts() *unstructured.Unstructured {
	in := fmt.Sprintf(`namespace=%q`, inf.Instance)
	sets := fmt.Sprintf(`%s,statefulset=~%q`, in, "valkey-"+ValkeyName+"-.*")
	return monitoring.Rules(inf.Meta(ValkeyName), inf.Monitoring,
		monitoring.Alert{
			Name: "ValkeyDown", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`sum(kube_statefulset_status_replicas_ready{%s}) == 0`, sets),
			Summary: "No pod of the key-value store (Valkey) is ready. Services that use it for locks are blocked.",
			Action:  "Look at the pods' events and logs.",
		},
		monitoring.Alert{
			Name: "ValkeyDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} < kube_statefulset_replicas{%[1]s}`, sets),
			Summary: "The key-value store (Valkey) has fewer ready members than configured.",
			Action:  "Check the events of the pods: a node may be full or missing, or a volume may not be attached.",
		},
		monitoring.Alert{
			Name: "ValkeyNoPrimary", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`count(redis_instance_info{%[1]s}) > 0 unless count(redis_instance_info{%[1]s,role="master"}) > 0`, in),
			Summary: "No member of the key-value store (Valkey) accepts writes.",
			Action:  "Check the sentinel logs: a quorum of sentinels is required to elect a primary.",
		},
	)
}

// cacheAlerts returns alerts on metrics of kube-state-metrics. Metrics of memcached itself require an exporter, which is not composed.
func (inf *Infrastructure) cacheAlerts() *unstructured.Unstructured {
	sets := fmt.Sprintf(`namespace=%q,statefulset=~"%s.*"`, inf.Instance, cacheName)
	return monitoring.Rules(inf.Meta(cacheName), inf.Monitoring,
		monitoring.Alert{
			Name: "CacheDown", Severity: monitoring.Critical, For: "5m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%s} == 0`, sets),
			Summary: "No pod of a cache is ready: every request is validated without it, and users of the dashboard are logged out if it is shared.",
			Action:  "Look at the pods' events and logs.",
		},
		monitoring.Alert{
			Name: "CacheDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} < kube_statefulset_replicas{%[1]s}`, sets),
			Summary: "A cache has fewer ready pods than configured: part of the cache is lost, and clients wait for their time-out.",
			Action:  "Look at the pods' events: a node may be full or gone.",
		},
	)
}

// programAlerts returns alerts on all containers of the control plane, and on all certificates of its namespace, also for pools.
func (inf *Infrastructure) programAlerts() *unstructured.Unstructured {
	return monitoring.Rules(inf.Meta("programs"), inf.Monitoring,
		append(monitoring.Containers("", inf.Instance), monitoring.CertificatesExpiring("CertificateExpiring", inf.Instance))...)
}

func labelsOf(labels map[string]common.LabelValue) object.Map {
	if len(labels) == 0 {
		return nil
	}
	return object.Strings(labels)
}
