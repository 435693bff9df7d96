package override

const (
	driver    = "only the database of Keystone is backed up and upgraded"
	tokens    = "only keys of Fernet tokens are stored and rotated" //nolint:gosec // It is a sentence.
	noSAML    = "it requires a signing key and programs that the pods do not have"
	mistyped  = "logs would contain hashes of mistyped passwords, which help to guess the right ones"
	delegated = "a delegated credential could obtain rights that it does not have"
	front     = "only headers set by the proxy can be trusted, because clients can send any other header"
)

// Owners of options in keystone.conf
// (https://docs.openstack.org/keystone/latest/configuration/config-options.html).
var _ = add("keystone", table{
	"DEFAULT": {
		"insecure_debug":  reserved("responses would tell unauthenticated clients why a login failed"),
		"public_endpoint": reserved("the public URL is derived from exposure and hostname"),
	},
	"application_credential": {"driver": reserved(driver)},
	"assignment":             {"driver": reserved(driver)},
	"auth": {
		// Required methods are checked separately, by package identity.
		"application_credential": reserved(plugin),
		"ec2credential":          reserved(plugin),
		"external":               reserved(plugin),
		"mapped":                 reserved(plugin),
		"oauth1":                 reserved(plugin),
		"openid":                 reserved(plugin),
		"password":               reserved(plugin),
		"token":                  reserved(plugin),
		"totp":                   reserved(plugin),
	},
	"catalog": {"driver": reserved(driver)},
	"credential": {
		"driver":         reserved(driver),
		"key_repository": reserved("the credential keys are mounted and rotated at a fixed path"),
		"provider":       reserved("only keys of this provider are stored and rotated"),
	},
	"domain_config":   {"driver": reserved(driver)},
	"endpoint_filter": {"driver": reserved(driver)},
	"endpoint_policy": {"driver": reserved(driver)},
	"eventlet_server": {every: reserved(uwsgi)},
	"federation": {
		"driver":                reserved(driver),
		"remote_id_attribute":   use("federation", front),
		"sso_callback_template": reserved(files),
		"trusted_dashboard":     use("federation.trustedDashboards", "the dashboards that may receive a token have a field"),
	},
	"fernet_receipts": {every: reserved("receipts are encrypted with the token keys")},
	"fernet_tokens": {
		"key_repository":  reserved("the token keys are mounted and rotated at a fixed path"),
		"max_active_keys": use("fernet.maxActiveKeys", "keys are stored and rotated outside of Keystone"),
	},
	"identity": {
		"default_domain_id":                   reserved("the administrator exists in the domain default"),
		"domain_config_dir":                   use("identityBackends", "the files of LDAP directories are mounted at a fixed path"),
		"domain_configurations_from_database": use("identityBackends", "Keystone would only read directories from its database"),
		"domain_specific_drivers_enabled":     use("identityBackends", "it depends on whether directories are configured"),
		"driver":                              use("identityBackends", "the administrator and the service users are in the database"),
	},
	"identity_mapping": {"driver": reserved(driver), "generator": reserved(driver)},
	"jwt_tokens":       {every: reserved(tokens)},
	"keystone_authtoken": {
		every: reserved("Keystone validates tokens itself"),
	},
	"ldap":   {every: use("identityBackends", "a directory belongs to a domain")},
	"oauth1": {"driver": reserved(driver)},
	"policy": {"driver": reserved(driver)},
	"receipt": {
		"expiration": reserved("the keys of receipts are kept for the lifetime of tokens"),
		"provider":   reserved(tokens),
	},
	"resource": {"driver": reserved(driver)},
	"revoke":   {"driver": reserved(driver)},
	"role":     {"driver": reserved(driver)},
	"saml":     {every: reserved(noSAML)},
	"security_compliance": {
		"allow_insecure_admin_trust_cross_project_credentials_access": reserved(delegated),
		"allow_insecure_application_credential_trust_escalation":      reserved(delegated),
		"report_invalid_password_hash":                                reserved(mistyped),
	},
	"shadow_users": {"driver": reserved(driver)},
	"token": {
		"allow_expired_window": use("fernet.allowExpiredWindowSeconds", "keys are kept as long as tokens are accepted"),
		"expiration":           use("fernet.tokenExpirationSeconds", "keys are kept for the lifetime of tokens"),
		"provider":             reserved(tokens),
	},
	// The issuer of the client certificate would be read from a header.
	"tokenless_auth": {every: reserved("client certificates are not verified, so any client could impersonate any user")},
	"trust":          {"driver": reserved(driver)},
	"unified_limit":  {"driver": reserved(driver)},
	"wsgi":           {"debug_middleware": reserved("logs would contain each request and response, with passwords and tokens")},
	// Groups of federation protocols: [openid], [mapped], [saml2] and others.
	every: {"remote_id_attribute": use("federation", front)},
}, withoutQueue, everyService)

const plugin = "the administrator, K-ORC and the services log in with Keystone's own methods"

// Owners of options in the file of a domain with an LDAP directory: options that have fields,
// and the sources of the directory's certificate and password.
var _ = add(directories, table{
	"ldap": {
		"debug_level":    reserved("logs would contain the password of each login"),
		"group_tree_dn":  use("groupTreeDN", "the subtree of groups has a field"),
		"password":       use("passwordSecretRef", "a claim must not contain a password"),
		"suffix":         use("suffix", "the base of the directory has a field"),
		"tls_cacertdir":  use("caSecretRef", files),
		"tls_cacertfile": use("caSecretRef", files),
		"tls_req_cert":   tenantOption("the tenant decides which CA to trust for a directory, and can also use one without TLS"),
		"url":            use("url", "the platform and the network policy use the field with the URL"),
		"user":           use("user", "it belongs to the password"),
		"user_tree_dn":   use("userTreeDN", "the subtree of users has a field"),
	},
})
