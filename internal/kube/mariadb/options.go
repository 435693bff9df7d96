package mariadb

import "github.com/c5c3/crossplane-cobaltcore/internal/kube/serveroption"

const (
	year = 365 * 24 * 60 * 60
	// recycle is the time after which services close an idle connection (connection_recycle_time of oslo.db), in seconds. A server that
	// closes it earlier makes requests fail.
	recycle = 600
)

// Options are the options that a claim may set. The bounds are those of MariaDB 11.8 (INFORMATION_SCHEMA.SYSTEM_VARIABLES), or narrower:
//
//   - Buffers are at most four to eight times their defaults, because the buffer pool and the connections share the memory of a member.
//   - The redo log is at most a quarter of the smallest volume, 1Gi.
//   - wait_timeout is longer than services keep idle connections.
//
// The slow query log and the general log cannot be enabled: they are files, or tables, without a limit. performance_schema needs memory
// that the buffer pool has.
var Options = serveroption.Table{
	Options: map[string]serveroption.Option{
		"back_log":                             serveroption.Number{Min: 50, Max: 65535},
		"connect_timeout":                      serveroption.Number{Min: 2, Max: year},
		"innodb_adaptive_hash_index":           onOff,
		"innodb_flush_log_at_trx_commit":       serveroption.Number{Min: 1, Max: 3},
		"innodb_flush_neighbors":               serveroption.Number{Min: 0, Max: 2},
		"innodb_io_capacity":                   serveroption.Number{Min: 100, Max: 1<<32 - 1},
		"innodb_io_capacity_max":               serveroption.Number{Min: 100, Max: 1<<32 - 1},
		"innodb_lock_wait_timeout":             serveroption.Number{Min: 1, Max: 3600},
		"innodb_log_buffer_size":               serveroption.Size{Min: 2 << 20, Max: 64 << 20},
		"innodb_log_file_size":                 serveroption.Size{Min: 4 << 20, Max: 256 << 20},
		"innodb_lru_scan_depth":                serveroption.Number{Min: 100, Max: 1 << 20},
		"innodb_max_dirty_pages_pct":           serveroption.Number{Min: 0, Max: 99},
		"innodb_print_all_deadlocks":           onOff,
		"innodb_purge_threads":                 serveroption.Number{Min: 1, Max: 32},
		"innodb_read_io_threads":               serveroption.Number{Min: 1, Max: 64},
		"innodb_stats_persistent_sample_pages": serveroption.Number{Min: 1, Max: 10000},
		"innodb_write_io_threads":              serveroption.Number{Min: 2, Max: 64},
		"join_buffer_size":                     serveroption.Size{Min: 128, Max: 1 << 20},
		"lock_wait_timeout":                    serveroption.Number{Min: 1, Max: year},
		"log_warnings":                         serveroption.Number{Min: 0, Max: 9},
		"max_connect_errors":                   serveroption.Number{Min: 1, Max: 1<<32 - 1},
		"max_heap_table_size":                  serveroption.Size{Min: 16 << 10, Max: 64 << 20},
		"net_read_timeout":                     serveroption.Number{Min: 30, Max: year},
		"net_write_timeout":                    serveroption.Number{Min: 30, Max: year},
		"read_buffer_size":                     serveroption.Size{Min: 8 << 10, Max: 1 << 20},
		"sort_buffer_size":                     serveroption.Size{Min: 1 << 10, Max: 8 << 20},
		"table_definition_cache":               serveroption.Number{Min: 400, Max: 16384},
		"table_open_cache":                     serveroption.Number{Min: 10, Max: 8192},
		"thread_cache_size":                    serveroption.Number{Min: 0, Max: 16384},
		"thread_handling":                      serveroption.Choice{"one-thread-per-connection", "pool-of-threads"},
		"thread_pool_max_threads":              serveroption.Number{Min: 1, Max: 65536},
		"thread_pool_size":                     serveroption.Number{Min: 1, Max: 1024},
		"tmp_table_size":                       serveroption.Size{Min: 0, Max: 64 << 20},
		"userstat":                             onOff,
		"wait_timeout":                         serveroption.Number{Min: recycle + 300, Max: year},
	},
	Rejected: map[string]string{
		"character_set_server":      schemas,
		"collation_server":          schemas,
		"general_log":               "its file has no limit; use userstat",
		"innodb_buffer_pool_size":   "it follows the memory; set resources.limits.memory",
		"innodb_snapshot_isolation": "services fail with error 1020 if it is on; remove it",
		"max_allowed_packet":        "it is 64M, which the largest row of the services fits; remove it",
		"max_connections":           "it follows the services and the memory; set size or resources.limits.memory",
		"performance_schema":        "it needs memory that the buffer pool has; use userstat",
		"slow_query_log":            "its file has no limit; use userstat",
		"sql_mode":                  "services set it for each connection; remove it",
	},
}

const schemas = "the schemas of the services depend on it; remove it"

var onOff = serveroption.Switch{Off: "OFF", On: "ON"}
