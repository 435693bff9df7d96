package override

// services are the tables of each service, in which it is looked up one after the other.
var services = map[string][]table{
	"keystone":  {keystone, withoutQueue, everyService},
	"barbican":  {barbican, queue, client, everyService},
	"placement": {placement, client, everyService},
	"glance":    {glance, withoutQueue, client, everyService},
	"neutron":   {neutron, queue, client, everyService},
	"cinder":    {cinder, queue, client, everyService},
	"nova":      {nova, queue, client, everyService},
	"heat":      {heat, queue, client, everyService},
	directories: {keystoneDomain},
	computes:    {novaCompute},
}

// directories names the table of the files of Keystone's domains, whose options are checked apart from those of keystone.conf.
const directories = "keystone domain"

const (
	logs = "logs go to the standard error of each container, where the cluster collects them, and nothing else of a pod can be written"
	// files is why a tenant names none: tenants can put none into a pod, and what they can name there is the image's or a secret.
	files  = "this names a file of the pod, which holds no other than the image's and those that are mounted here"
	pods   = "the rest of the cloud is computed from this"
	probed = "the pods' probes ask it"
	uwsgi  = "uWSGI serves"
)

// everyService are options of the libraries that all services use. Those that hold secrets are refused without being named here.
var everyService = table{
	"DEFAULT": {
		"config_file":       ours(files),
		"config_dir":        ours(files),
		"config_source":     ours("configuration comes from the claim alone, and from no other server or file"),
		"log_config_append": ours(logs),
		"log_dir":           ours(logs),
		"log_file":          ours(logs),
		"use_stderr":        ours(logs),
		"use_syslog":        ours(logs),
		"use_journal":       ours(logs),
		"watch_log_file":    ours(logs),
	},
	"cache": {
		// What a server that does not answer may cost, and how long entries live, is the tenant's.
		"backend":                     ours(pods),
		"backend_argument":            ours(pods),
		"memcache_servers":            ours("the cache is the control plane's own, and its addresses follow from how many there are"),
		"memcache_sasl_enabled":       ours(cacheLogin),
		"memcache_username":           ours(cacheLogin),
		"username":                    ours(cacheLogin),
		"proxies":                     ours("this names code to be loaded"),
		"redis_db":                    ours(noRedis),
		"redis_sentinels":             ours(noRedis),
		"redis_server":                ours(noRedis),
		"redis_username":              ours(noRedis),
		"redis_sentinel_service_name": ours(noRedis),
		"tls_enabled":                 ours(cacheTLS),
		"tls_cafile":                  ours(cacheTLS),
		"tls_certfile":                ours(cacheTLS),
		"tls_keyfile":                 ours(cacheTLS),
		"tls_allowed_ciphers":         ours(cacheTLS),
	},
	"database": {
		"backend":               ours(pods),
		"connection_parameters": ours(databaseURL),
		"mysql_wsrep_sync_wait": ours("it follows from whether the database is a Galera cluster"),
	},
	"healthcheck":      {every: ours(probed)},
	"oslo_concurrency": {"lock_path": ours(files)},
	"oslo_messaging_metrics": {
		every: ours("nothing collects these metrics"),
	},
	"oslo_middleware": {
		"enable_proxy_headers_parsing": ours("whether headers of a proxy are believed follows from what stands before the pods"),
		"http_basic_auth_user_file":    ours(files),
	},
	"oslo_middleware_tracing": {every: ours(traces)},
	"oslo_policy": {
		"policy_file":          use("policy", "the file of access rules is written from the claim"),
		"policy_dirs":          use("policy", "the file of access rules is written from the claim"),
		"policy_default_rule":  use("policy", "a rule that a service does not have is nobody's"),
		"enforce_scope":        ours(defaults),
		"enforce_new_defaults": ours(defaults),
		every:                  ours("no access rule asks a server"),
	},
	"profiler":        {every: ours(traces)},
	"profiler_jaeger": {every: ours(traces)},
	"profiler_otlp":   {every: ours(traces)},
}

// client is what a service has that asks Keystone whose a token is, and that may ask for limits and keys.
var client = table{
	"keystone_authtoken": {
		every:                      ours("the Keystone of the control plane checks tokens, and the service is a user of its own there"),
		"http_connect_timeout":     tenantOption(patience),
		"http_request_max_retries": tenantOption(patience),
		"token_cache_time":         tenantOption("how long the service believes what it was told of a token is the tenant's decision"),
	},
	"oslo_limit":            {every: ours(noLimits)},
	"barbican":              {every: ours(noKeys)},
	"barbican_service_user": {every: ours(noKeys)},
	"key_manager":           {every: ours(noKeys)},
	"vault":                 {every: ours(noKeys)},
}

const (
	patience = "how long to wait for Keystone is the tenant's decision"
	noLimits = "the service does not ask Keystone for limits here"
	noKeys   = "which key manager is asked follows from whether the control plane has one"
)

// withoutQueue is what a service has that could use a message queue, and is given none.
var withoutQueue = table{
	"oslo_messaging_kafka":         {every: ours(noMQ)},
	"oslo_messaging_rabbit":        {every: ours(noMQ)},
	"oslo_messaging_notifications": {"driver": tenantValues(noMQ+", and a request would wait for it", "log", "noop")},
}

const noMQ = "the service has no message queue here"

// queue is what a service has whose processes call each other by the message queue.
var queue = table{
	"DEFAULT":              {"control_exchange": ours("the service has a virtual host of its own")},
	"oslo_messaging_kafka": {every: ours("the message queue is RabbitMQ")},
	"oslo_messaging_notifications": {
		"driver": tenantValues("nobody reads notifications from the message queue, which would keep all of them", "log", "noop"),
	},
	"oslo_messaging_rabbit": {
		// A queue that exists is not opened with other arguments, so that a change would stop those who share it.
		every:                                  ours("how queues are declared and reached is one for all processes and hypervisors"),
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

const calls = "how patient a process is and how many connections it keeps is the tenant's decision"

const (
	cacheLogin  = "the cache asks nobody for a password, and a network policy says who reaches it"
	cacheTLS    = "the cache serves no TLS, and a network policy says who reaches it"
	noRedis     = "the cache is memcached"
	databaseURL = "the database is the control plane's own"
	traces      = "requests are not traced yet, and whoever knows the key of a profiler sees what services say to the database"
	defaults    = "the rules that come with the service are meant and checked together with their scopes"
)
