package override

const (
	driver = "Keystone's data are in its database, which is what is backed up and upgraded"
	tokens = "the keys that are kept and rotated are those of Fernet tokens"
	noSAML = "this needs a signing key and programs that the pods do not have"
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
	"eventlet_server": {every: ours(uwsgi)},
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
	"ldap":   {every: use("identityBackends", "a directory belongs to a domain")},
	"oauth1": {"driver": ours(driver)},
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
		"tls_req_cert":   tenantOption("which authority to trust for a directory is the tenant's decision, who may name one without TLS as well"),
		"url":            use("url", "the platform and the network policy look at the address where it has a field"),
		"user":           use("user", "it belongs to its password"),
		"user_tree_dn":   use("userTreeDN", "where users are has a field"),
	},
}
