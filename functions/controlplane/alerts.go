package controlplane

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// queueAlerts use metrics of RabbitMQ (https://www.rabbitmq.com/docs/prometheus), kube-state-metrics and cert-manager. Its operator does
// not report that a member is in alarm: the queue is ready and takes no messages.
func (m *model) queueAlerts() *unstructured.Unstructured {
	in := fmt.Sprintf(`namespace=%q`, m.instance)
	set := fmt.Sprintf(`%s,statefulset=%q`, in, rabbitMQName+"-server")
	return monitoring.Rules(m.meta(rabbitMQName), m.monitoring,
		monitoring.Alert{
			Name: "QueueWithoutMajority", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} <= kube_statefulset_replicas{%[1]s} / 2`, set),
			Summary: "Half of the queue's members or fewer are there: quorum queues take and deliver nothing.",
			Action:  "Look at the pods' events and logs; members that come back take part again by themselves.",
		},
		monitoring.Alert{
			Name: "QueueDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} < kube_statefulset_replicas{%[1]s}`, set),
			Summary: "Fewer of the queue's members are there than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, or a volume may not be attached.",
		},
		monitoring.Alert{
			Name: "QueueOutOfMemory", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`max(rabbitmq_alarms_memory_used_watermark{%s}) > 0`, in),
			Summary: "A member of the queue has too much in memory: no publisher gets a message through.",
			Action:  "Find the queue that nobody reads from; more memory is infrastructure.rabbitmq.resources.",
		},
		monitoring.Alert{
			Name: "QueueDiskFull", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`max(rabbitmq_alarms_free_disk_space_watermark{%s}) > 0`, in),
			Summary: "A volume of the queue is too full: no publisher gets a message through.",
			Action:  "Find the queue that nobody reads from; a larger volume is infrastructure.rabbitmq.storageSize.",
		},
		monitoring.Alert{
			Name: "QueuePartitioned", Severity: monitoring.Critical, For: "5m",
			Expr: fmt.Sprintf(`(count(erlang_vm_dist_node_state{%[1]s} == 3) or vector(0)) < `+
				`count(rabbitmq_build_info{%[1]s}) * (count(rabbitmq_build_info{%[1]s}) - 1)`, in),
			Summary: "Members of the queue do not reach each other; those in the minority have stopped.",
			Action:  "Look at the network between the nodes that they run on.",
		},
		monitoring.CertificateExpiring("QueueCertificateExpiring", "The queue's certificate", m.instance, queueTLS),
	)
}

// storeAlerts use metrics of kube-state-metrics and Valkey's exporter (https://github.com/oliver006/redis_exporter).
func (m *model) storeAlerts() *unstructured.Unstructured {
	in := fmt.Sprintf(`namespace=%q`, m.instance)
	sets := fmt.Sprintf(`%s,statefulset=~%q`, in, "valkey-"+valkeyName+"-.*")
	return monitoring.Rules(m.meta(valkeyName), m.monitoring,
		monitoring.Alert{
			Name: "StoreDown", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`sum(kube_statefulset_status_replicas_ready{%s}) == 0`, sets),
			Summary: "No member of the key-value store is there: services that lock across pods stop.",
			Action:  "Look at the pods' events and logs.",
		},
		monitoring.Alert{
			Name: "StoreDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} < kube_statefulset_replicas{%[1]s}`, sets),
			Summary: "Fewer members of the key-value store are there than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, or a volume may not be attached.",
		},
		monitoring.Alert{
			Name: "StoreWithoutPrimary", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`count(redis_instance_info{%[1]s}) > 0 unless count(redis_instance_info{%[1]s,role="master"}) > 0`, in),
			Summary: "No member of the key-value store takes writes.",
			Action:  "Read the logs of the sentinels: most of them have to be there to make a member the primary.",
		},
	)
}

func labelsOf(labels map[string]common.LabelValue) object.Map {
	if len(labels) == 0 {
		return nil
	}
	return object.Strings(labels)
}
