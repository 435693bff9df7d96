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

// Monitor makes a ServiceMonitor that reads the metrics of every member: their sums, and the messages of each queue.
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

// backlog is the number of messages in one queue from which someone is alerted. A service takes each message as it comes.
const backlog = 200

// Alerts use metrics of RabbitMQ (https://www.rabbitmq.com/docs/prometheus), kube-state-metrics and cert-manager. Its operator does
// not report that a member is in alarm: the queue is ready and takes no messages. Field is what orders it in a claim.
func (c Cluster) Alerts(conf common.Monitoring, field string) *unstructured.Unstructured {
	meta := c.Meta(c.Name)
	set := fmt.Sprintf(`namespace=%q,statefulset=%q`, meta.Namespace, c.Name+"-server")
	in := fmt.Sprintf(`namespace=%q,pod=~"%s-server-[0-9]+"`, meta.Namespace, c.Name)
	// A stream keeps what everybody has read: its messages are no backlog.
	queues := in + `,queue!~".*_fanout(_.*)?"`
	return monitoring.Rules(meta, conf,
		monitoring.Alert{
			Name: "QueueBacklog", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`max by (namespace, vhost, queue) (rabbitmq_detailed_queue_messages_ready{%s}) > %d`, queues, backlog),
			Summary: "{{ $value }} messages wait in queue {{ $labels.queue }} of virtual host {{ $labels.vhost }}: requests to readers time out.",
			Action: "Look at the pods that read it: the name begins with the program, such as conductor or scheduler. " +
				"More pods or a larger size read more; a queue without a reader can be deleted (rabbitmqctl delete_queue).",
		},
		monitoring.Alert{
			Name: "QueueUnacknowledged", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`max by (namespace, vhost, queue) (rabbitmq_detailed_queue_messages_unacked{%s}) > %d`, queues, backlog),
			Summary: "Readers of queue {{ $labels.queue }} of virtual host {{ $labels.vhost }} have not acknowledged {{ $value }} messages.",
			Action:  "Look at the pods that read it: one that hangs has the messages. Its restart gives them to another one.",
		},
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
			Action:  "Find the queue that nobody reads from; more memory is said in " + field + ".",
		},
		monitoring.Alert{
			Name: "QueueDiskFull", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`max(rabbitmq_alarms_free_disk_space_watermark{%s}) > 0`, in),
			Summary: "A volume of the queue is too full: no publisher gets a message through.",
			Action:  "Find the queue that nobody reads from; a larger volume is " + field + ".storageSize.",
		},
		monitoring.Alert{
			Name: "QueuePartitioned", Severity: monitoring.Critical, For: "5m",
			Expr: fmt.Sprintf(`(count(erlang_vm_dist_node_state{%[1]s} == 3) or vector(0)) < `+
				`count(rabbitmq_build_info{%[1]s}) * (count(rabbitmq_build_info{%[1]s}) - 1)`, in),
			Summary: "Members of the queue do not reach each other; those in the minority have stopped.",
			Action:  "Look at the network between the nodes that they run on.",
		},
		monitoring.CertificateExpiring("QueueCertificateExpiring", "The queue's certificate", meta.Namespace, TLSSecret(c.Name)),
	)
}
