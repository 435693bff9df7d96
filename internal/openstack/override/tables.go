package override

// services are the tables of each service, in the order in which they are searched. The file of each service adds its own (see add).
var services = map[string][]table{}

// add adds the table of a service and the shared tables, which are searched after it, and returns the former. It is called only by the
// package variables of the services' files.
func add(service string, own table, shared ...table) table {
	services[service] = append([]table{own}, shared...)
	return own
}

// directories is the key of the table for the files of Keystone's domains, whose options are checked separately from
// keystone.conf.
const directories = "keystone domain"

const (
	logs = "logs are written to standard error, where the cluster collects them, and pods have no writable folder for them"
	// files explains why tenants cannot set paths: they cannot add files to a pod, and the existing files belong to the
	// image or contain secrets.
	files  = "it is the path of a file in the pod, which only contains files of the image and mounted files"
	pods   = "the rest of the cloud is derived from it"
	probed = "the probes of the pods use it"
	uwsgi  = "uWSGI serves requests"
	// logged values are readable for everyone who may read logs. hack/registry/leaks.py lists the options of this kind.
	loggedRows    = "logs would contain values of the database, such as password hashes and credentials"
	loggedEntries = "logs would contain entries of the cache, such as tokens"
	unverified    = "certificates would not be verified, and another server could receive tokens"
)

// everyService contains the owners of options of the libraries that all services use. Secret options are rejected without
// being listed.
var everyService = table{
	"DEFAULT": {
		"config_file":       reserved(files),
		"config_dir":        reserved(files),
		"config_source":     reserved("configuration must come from the claim, not from another server or file"),
		"log_config_append": reserved(logs),
		"log_dir":           reserved(logs),
		"log_file":          reserved(logs),
		"use_stderr":        reserved(logs),
		"use_syslog":        reserved(logs),
		"use_journal":       reserved(logs),
		"watch_log_file":    reserved(logs),
	},
	"cache": {
		// The tenant may set the timeouts of servers and the lifetime of entries.
		"backend":                     reserved(pods),
		"backend_argument":            reserved(pods),
		"memcache_servers":            reserved("the addresses are derived from the replicas of the control plane's cache"),
		"memcache_sasl_enabled":       reserved(cacheLogin),
		"memcache_username":           reserved(cacheLogin),
		"username":                    reserved(cacheLogin),
		"proxies":                     reserved("it would load code"),
		"redis_db":                    reserved(noRedis),
		"redis_sentinels":             reserved(noRedis),
		"redis_server":                reserved(noRedis),
		"redis_username":              reserved(noRedis),
		"redis_sentinel_service_name": reserved(noRedis),
		"debug_cache_backend":         reserved(loggedEntries),
		"tls_enabled":                 reserved(cacheTLS),
		"tls_cafile":                  reserved(cacheTLS),
		"tls_certfile":                reserved(cacheTLS),
		"tls_keyfile":                 reserved(cacheTLS),
		"tls_allowed_ciphers":         reserved(cacheTLS),
	},
	"database": {
		"backend":               reserved(pods),
		"connection_debug":      reserved(loggedRows),
		"connection_parameters": reserved(databaseURL),
		"mysql_wsrep_sync_wait": reserved("it depends on whether the database is a Galera cluster"),
	},
	"healthcheck":      {every: reserved(probed)},
	"oslo_concurrency": {"lock_path": reserved(files)},
	"oslo_messaging_metrics": {
		every: reserved("these metrics are not collected"),
	},
	"oslo_middleware": {
		"enable_proxy_headers_parsing": reserved("whether proxy headers are trusted depends on the proxy in front of the pods"),
		"http_basic_auth_user_file":    reserved(files),
	},
	"oslo_middleware_tracing": {every: reserved(traces)},
	"oslo_policy": {
		"policy_file":          use("policy", "the policy file is written from the claim"),
		"policy_dirs":          use("policy", "the policy file is written from the claim"),
		"policy_default_rule":  use("policy", "the default rule is set by the control plane"),
		"enforce_scope":        reserved(defaults),
		"enforce_new_defaults": reserved(defaults),
		every:                  reserved("policy rules cannot call a server"),
	},
	"profiler":        {every: reserved(traces)},
	"profiler_jaeger": {every: reserved(traces)},
	"profiler_otlp":   {every: reserved(traces)},
}

// client contains the owners of options of services that validate tokens with Keystone and may use limits and keys.
var client = table{
	"keystone_authtoken": {
		every:                      reserved("tokens are validated by the Keystone of the control plane, where each service has its own user"),
		"http_connect_timeout":     tenantOption(keystoneRetries),
		"http_request_max_retries": tenantOption(keystoneRetries),
		"token_cache_time":         tenantOption("the tenant decides how long validated tokens are cached"),
	},
	"oslo_limit":            {every: reserved(noLimits)},
	"barbican":              {every: reserved(noKeys)},
	"barbican_service_user": {every: reserved(noKeys)},
	"key_manager":           {every: reserved(noKeys)},
	"vault":                 {every: reserved(noKeys)},
}

const (
	keystoneRetries = "the tenant decides the timeout for Keystone"
	noLimits        = "the service does not use limits in Keystone"
	noKeys          = "the key manager is set by the control plane"
)

// withoutQueue contains the owners of queue options of services without a message queue.
var withoutQueue = table{
	"oslo_messaging_kafka":         {every: reserved(noMQ)},
	"oslo_messaging_rabbit":        {every: reserved(noMQ)},
	"oslo_messaging_notifications": {"driver": tenantValues(noMQ+", and requests would wait for it", "log", "noop")},
}

const noMQ = "the service has no message queue"

// queue contains the owners of queue options of services whose processes communicate through the message queue.
var queue = table{
	"DEFAULT":              {"control_exchange": reserved("the service has its own virtual host")},
	"oslo_messaging_kafka": {every: reserved("the message queue is RabbitMQ")},
	"oslo_messaging_notifications": {
		"driver": tenantValues("notifications in the message queue would never be consumed and accumulate", "log", "noop"),
	},
	"oslo_messaging_rabbit": {
		// An existing queue cannot be opened with other arguments, so a change would stop all processes that share it.
		every:                                  reserved("queue settings must be the same for all processes and hypervisors"),
		"conn_pool_min_size":                   tenantOption(calls),
		"conn_pool_ttl":                        tenantOption(calls),
		"heartbeat_rate":                       tenantOption(calls),
		"heartbeat_timeout_threshold":          tenantOption(calls),
		"kombu_missing_consumer_retry_timeout": tenantOption(calls),
		"kombu_reconnect_delay":                tenantOption(calls),
		"kombu_reconnect_splay":                tenantOption(calls),
		"rabbit_interval_max":                  tenantOption(calls),
		"rabbit_retry_backoff":                 tenantOption(calls),
		"rabbit_retry_interval":                tenantOption(calls),
		"rpc_conn_pool_size":                   tenantOption(calls),
	},
}

const calls = "the tenant decides timeouts and the number of connections"

const (
	cacheLogin  = "the cache has no authentication, and a network policy restricts access"
	cacheTLS    = "the cache does not support TLS, and a network policy restricts access"
	noRedis     = "the cache is memcached"
	databaseURL = "the database belongs to the control plane"
	traces      = "tracing is not implemented, and the key of a profiler gives access to the database queries of services"
	defaults    = "the default rules require scopes"
)
