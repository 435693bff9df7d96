package rabbitmq

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Monitor builds a ServiceMonitor for the metrics of every member: totals, and the messages of each queue.
func (c Cluster) Monitor(conf common.Monitoring) *unstructured.Unstructured {
	o := monitoring.ServiceTLS(
		c.Meta(c.Name), conf, "prometheus-tls", Pods(c.Name), monitoring.Authority{Secret: TLSSecret(c.Name), Host: c.host()},
	)
	spec, _ := o.Object["spec"].(object.Map)
	endpoints, _ := spec["endpoints"].(object.List)
	for _, e := range slices.Clone(endpoints) {
		if sums, ok := e.(object.Map); ok {
			queues := maps.Clone(sums)
			queues["path"], queues["params"] = "/metrics/detailed", object.Map{"family": object.List{"queue_coarse_metrics"}}
			endpoints = append(endpoints, queues)
		}
	}
	spec["endpoints"] = endpoints
	return o
}

// backlog is the alert threshold for messages in one queue. Services consume messages as they arrive.
const backlog = 200

// Alerts builds alerts with metrics of RabbitMQ (https://www.rabbitmq.com/docs/prometheus) and kube-state-metrics. The
// operator does not report resource alarms of members: the queue is ready and accepts no messages. Field is its path in a claim.
func (c Cluster) Alerts(conf common.Monitoring, field string) *unstructured.Unstructured {
	meta := c.Meta(c.Name)
	set := fmt.Sprintf(`namespace=%q,statefulset=%q`, meta.Namespace, c.Name+"-server")
	in := fmt.Sprintf(`namespace=%q,pod=~"%s-server-[0-9]+"`, meta.Namespace, c.Name)
	// A stream keeps messages after they are read, so they are no backlog.
	queues := in + `,queue!~".*_fanout(_.*)?"`
	return monitoring.Rules(meta, conf,
		monitoring.Alert{
			Name: "QueueBacklog", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`max by (namespace, vhost, queue) (rabbitmq_detailed_queue_messages_ready{%s}) > %d`, queues, backlog),
			Summary: "{{ $value }} messages wait in queue {{ $labels.queue }} of virtual host {{ $labels.vhost }}: requests time out.",
			Action: "Find the consumer by the start of the queue's name, such as conductor or scheduler, and check its pods. " +
				"More pods or a larger size consume faster. Delete a queue without a consumer with rabbitmqctl delete_queue.",
		},
		monitoring.Alert{
			Name: "QueueUnacknowledged", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`max by (namespace, vhost, queue) (rabbitmq_detailed_queue_messages_unacked{%s}) > %d`, queues, backlog),
			Summary: "Consumers of queue {{ $labels.queue }} of virtual host {{ $labels.vhost }} have not acknowledged {{ $value }} messages.",
			Action:  "Check the pods that consume it: one that hangs has the messages. If it is restarted, another consumer gets them.",
		},
		monitoring.Alert{
			Name: "QueueQuorumLost", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} <= kube_statefulset_replicas{%[1]s} / 2`, set),
			Summary: "RabbitMQ has lost its quorum: quorum queues accept and deliver no messages.",
			Action:  "Check the events and logs of the pods; members that return rejoin automatically.",
		},
		monitoring.Alert{
			Name: "QueueDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`kube_statefulset_status_replicas_ready{%[1]s} < kube_statefulset_replicas{%[1]s}`, set),
			Summary: "RabbitMQ has fewer ready members than configured.",
			Action:  "Check the events of the pods: a node may be full or missing, or a volume may not be attached.",
		},
		monitoring.Alert{
			Name: "QueueMemoryAlarm", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`max(rabbitmq_alarms_memory_used_watermark{%s}) > 0`, in),
			Summary: "A member of the queue uses too much memory: publishers are blocked.",
			Action:  "Find the queue without consumers; to increase memory, set " + field + ".",
		},
		monitoring.Alert{
			Name: "QueueDiskAlarm", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`max(rabbitmq_alarms_free_disk_space_watermark{%s}) > 0`, in),
			Summary: "A volume of the queue is too full: publishers are blocked.",
			Action:  "Find the queue without consumers; to increase the volume, set " + field + ".storageSize.",
		},
		monitoring.Alert{
			Name: "QueuePartitioned", Severity: monitoring.Critical, For: "5m",
			Expr: fmt.Sprintf(`(count(erlang_vm_dist_node_state{%[1]s} == 3) or vector(0)) < `+
				`count(rabbitmq_build_info{%[1]s}) * (count(rabbitmq_build_info{%[1]s}) - 1)`, in),
			Summary: "RabbitMQ is partitioned. Members in the minority partition are paused.",
			Action:  "Check the network between the nodes of the members.",
		},
	)
}
