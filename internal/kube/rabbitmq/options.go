package rabbitmq

import "github.com/c5c3/crossplane-cobaltcore/internal/kube/serveroption"

// Options are the options that a claim may set, of those in the schema of RabbitMQ 4.0 (rabbit.schema). Times are in milliseconds, those of
// heartbeat and net_ticktime in seconds.
//
// heartbeat is the server's proposal; oslo.messaging proposes 60, and the lower one holds. consumer_timeout is longer than the
// longest call that a service handles before it confirms the message. max_message_size fits the largest message of Nova's conductor.
var Options = serveroption.Table{
	Options: map[string]serveroption.Option{
		"background_gc_enabled":       trueFalse,
		"channel_max":                 serveroption.Number{Min: 256, Max: 65535},
		"cluster_keepalive_interval":  serveroption.Number{Min: 1000, Max: 60000},
		"collect_statistics_interval": serveroption.Number{Min: 1000, Max: 300000},
		"consumer_timeout":            serveroption.Number{Min: 3600000, Max: 7 * 24 * 3600000},
		"handshake_timeout":           serveroption.Number{Min: 5000, Max: 120000},
		"heartbeat":                   serveroption.Number{Min: 10, Max: 600},
		"log.channel.level":           levels,
		"log.connection.level":        levels,
		"log.console.level":           levels,
		"log.queue.level":             levels,
		"max_message_size":            serveroption.Number{Min: 16 << 20, Max: 512 << 20},
		"net_ticktime":                serveroption.Number{Min: 10, Max: 300},
		"num_acceptors.ssl":           serveroption.Number{Min: 1, Max: 1000},
		"queue_leader_locator":        serveroption.Choice{"balanced", "client-local"},
		"quorum_queue.continuous_membership_reconciliation.enabled":  trueFalse,
		"quorum_queue.continuous_membership_reconciliation.interval": serveroption.Number{Min: 60000, Max: 24 * 3600000},
		"raft.segment_max_entries":                                   serveroption.Number{Min: 1, Max: 65535},
		"raft.wal_max_batch_size":                                    serveroption.Number{Min: 1, Max: 65536},
		"ssl_handshake_timeout":                                      serveroption.Number{Min: 1000, Max: 120000},
		"tcp_listen_options.backlog":                                 serveroption.Number{Min: 128, Max: 65535},
		"tcp_listen_options.keepalive":                               trueFalse,
		"tcp_listen_options.nodelay":                                 trueFalse,
		"tcp_listen_options.recbuf":                                  serveroption.Number{Min: 4 << 10, Max: 16 << 20},
		"tcp_listen_options.sndbuf":                                  serveroption.Number{Min: 4 << 10, Max: 16 << 20},
	},
	Rejected: map[string]string{
		"cluster_partition_handling": "a minority of members must pause, or queues diverge; remove it",
		"default_queue_type":         "queues must survive the loss of a member; remove it",
		"disk_free_limit.absolute":   "it follows the memory and the volume; set resources.limits.memory or storageSize",
		"disk_free_limit.relative": "disk_free_limit.absolute follows the memory and the volume; set resources.limits.memory or " +
			"storageSize",
		"raft.wal_max_size_bytes":           "it follows the memory and the volume; set resources.limits.memory or storageSize",
		"vm_memory_high_watermark.absolute": memory,
		"vm_memory_high_watermark.relative": memory,
	},
}

const memory = "limits of the write-ahead log depend on the default, 60%; set resources.limits.memory"

var (
	trueFalse = serveroption.Switch{Off: "false", On: "true"}
	levels    = serveroption.Choice{"debug", "info", "notice", "warning", "error", "critical", "none"}
)
