package override

// services are the tables of the services, each beside what is the same for all of them.
var services = map[string]table{
	"keystone":  keystone,
	directories: keystoneDomain,
}

// directories names the table of the files of Keystone's domains, whose options are checked apart from those of keystone.conf.
const directories = "keystone domain"

const (
	logs = "logs go to the standard error of each container, where the cluster collects them, and nothing else of a pod can be written"
	// files is why a tenant names none: tenants can put none into a pod, and what they can name there is the image's or a secret.
	files = "this names a file of the pod, which holds no other than the image's and those that are mounted here"
	pods  = "the rest of the cloud is computed from this"
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

const (
	cacheLogin  = "the cache asks nobody for a password, and a network policy says who reaches it"
	cacheTLS    = "the cache serves no TLS, and a network policy says who reaches it"
	noRedis     = "the cache is memcached"
	databaseURL = "the database is the control plane's own"
	traces      = "requests are not traced yet, and whoever knows the key of a profiler sees what services say to the database"
	defaults    = "the rules that come with the service are meant and checked together with their scopes"
)

const (
	driver = "Keystone's data are in its database, which is what is backed up and upgraded"
	tokens = "the keys that are kept and rotated are those of Fernet tokens"
	noMQ   = "Keystone has no message queue here"
	noSAML = "this needs a signing key and programs that the pods do not have"
	probed = "the pods' probes ask it"
	front  = "only what the proxy tells of a user is true, while a client can send any other header"
)

// keystone is keystone.conf (https://docs.openstack.org/keystone/latest/configuration/config-options.html).
var keystone = table{
	"DEFAULT": {
		"public_endpoint": ours("the public address follows from the exposure and the host name"),
	},
	"application_credential": {"driver": ours(driver)},
	"assignment":             {"driver": ours(driver)},
	"auth": {
		// What must not be missing is looked at apart: RequiredMethods.
		"application_credential": ours(plugin),
		"ec2credential":          ours(plugin),
		"external":               ours(plugin),
		"mapped":                 ours(plugin),
		"oauth1":                 ours(plugin),
		"openid":                 ours(plugin),
		"password":               ours(plugin),
		"token":                  ours(plugin),
		"totp":                   ours(plugin),
	},
	"catalog": {"driver": ours(driver)},
	"credential": {
		"driver":         ours(driver),
		"key_repository": ours("the keys of stored credentials are mounted and rotated there"),
		"provider":       ours("the keys that are kept and rotated are those of this provider"),
	},
	"domain_config":   {"driver": ours(driver)},
	"endpoint_filter": {"driver": ours(driver)},
	"endpoint_policy": {"driver": ours(driver)},
	"eventlet_server": {every: ours("uWSGI serves")},
	"federation": {
		"driver":                ours(driver),
		"remote_id_attribute":   use("federation", front),
		"sso_callback_template": ours(files),
		"trusted_dashboard":     use("federation.trustedDashboards", "the dashboards that may receive a token stand beside the provider"),
	},
	"fernet_receipts": {every: ours("receipts are encrypted by the keys of tokens")},
	"fernet_tokens": {
		"key_repository":  ours("the keys of tokens are mounted and rotated there"),
		"max_active_keys": use("fernet.maxActiveKeys", "keys are kept and rotated from outside of Keystone"),
	},
	"healthcheck": {every: ours(probed)},
	"identity": {
		"default_domain_id":                   ours("the administrator was made in the domain default"),
		"domain_config_dir":                   use("identityBackends", "the files of directories are mounted there"),
		"domain_configurations_from_database": use("identityBackends", "Keystone would read directories from its database alone"),
		"domain_specific_drivers_enabled":     use("identityBackends", "it follows from whether there are directories"),
		"driver":                              use("identityBackends", "the administrator and the service users live in the database"),
	},
	"identity_mapping": {"driver": ours(driver), "generator": ours(driver)},
	"jwt_tokens":       {every: ours(tokens)},
	"keystone_authtoken": {
		every: ours("Keystone looks tokens up itself, and asks no other Keystone"),
	},
	"ldap":                  {every: use("identityBackends", "a directory belongs to a domain")},
	"oauth1":                {"driver": ours(driver)},
	"oslo_messaging_kafka":  {every: ours(noMQ)},
	"oslo_messaging_rabbit": {every: ours(noMQ)},
	"oslo_messaging_notifications": {
		"driver": oneOf(noMQ+", and a request would wait for it", "log", "noop"),
	},
	"policy": {"driver": ours(driver)},
	"receipt": {
		"expiration": ours("the keys that decrypt receipts are kept for as long as tokens live"),
		"provider":   ours(tokens),
	},
	"resource":     {"driver": ours(driver)},
	"revoke":       {"driver": ours(driver)},
	"role":         {"driver": ours(driver)},
	"saml":         {every: ours(noSAML)},
	"shadow_users": {"driver": ours(driver)},
	"token": {
		"allow_expired_window": use("fernet.allowExpiredWindowSeconds", "keys are kept for as long as tokens are accepted"),
		"expiration":           use("fernet.tokenExpirationSeconds", "keys are kept for as long as tokens live"),
		"provider":             ours(tokens),
	},
	// The address of the client's certificate's issuer would be a header's.
	"tokenless_auth": {every: ours("nothing before Keystone looks at certificates of clients, so that any client could claim to be anybody")},
	"trust":          {"driver": ours(driver)},
	"unified_limit":  {"driver": ours(driver)},
	// The groups of federation protocols: [openid], [mapped], [saml2] and what else one is called.
	every: {"remote_id_attribute": use("federation", front)},
}

const plugin = "the administrator, K-ORC and the services log in by the methods that come with Keystone"

// keystoneDomain is the file of a domain whose users are in a directory: what the fields beside its options set, and where the directory's
// certificate and password come from.
var keystoneDomain = table{
	"ldap": {
		"group_tree_dn":  use("groupTreeDN", "where groups are has a field"),
		"password":       use("passwordSecretRef", "a password does not stand in a claim"),
		"suffix":         use("suffix", "where the directory starts has a field"),
		"tls_cacertdir":  use("caSecretRef", files),
		"tls_cacertfile": use("caSecretRef", files),
		"tls_req_cert":   tenants("which authority to trust for a directory is the tenant's decision, who may name one without TLS as well"),
		"url":            use("url", "the platform and the network policy look at the address where it has a field"),
		"user":           use("user", "it belongs to its password"),
		"user_tree_dn":   use("userTreeDN", "where users are has a field"),
	},
}
