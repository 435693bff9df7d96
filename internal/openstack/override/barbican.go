package override

const (
	reasonKEKRetained = "the control plane generates, stores and rotates the keys"
	vaults            = "the secret store has a field, and secrets in another store could not be read"
	noHSM             = "the image does not contain a library for hardware security modules"
	unnotified        = "Keystone has no message queue for notifications about projects"
	orders            = "the workers and the API must have the same value"
)

// Owners of options in barbican.conf
// (https://docs.openstack.org/barbican/latest/configuration/config.html).
var _ = add("barbican", table{
	"DEFAULT": {
		"admin_role":                reserved("the policy rules define all permissions"),
		"allow_anonymous_access":    reserved("tokens are always required"),
		"backdoor_port":             reserved(backdoor),
		"backdoor_socket":           reserved(backdoor),
		"db_auto_create":            reserved("Jobs create and upgrade the schema, one at a time, not each pod"),
		"executor_thread_pool_size": reserved("the number of database connections is derived from it"),
		"graceful_shutdown_timeout": reserved(graceful),
		"host_href":                 reserved(answers),
	},
	"crypto":                 {every: reserved(reasonKEKRetained)},
	"dogtag_plugin":          {every: reserved(noHSM)},
	"keystone_notifications": {every: reserved(unnotified)},
	"p11_crypto_plugin":      {every: reserved(noHSM)},
	"queue": {
		every:                  reserved(orders),
		"asynchronous_workers": use("worker", processes),
	},
	"retry_scheduler":      {every: reserved("no type of order supports retries")},
	"secretstore":          {every: use("vault", vaults)},
	"simple_crypto_plugin": {every: use("keys", reasonKEKRetained)},
	"vault_plugin":         {every: use("vault", vaults)},
}, queue, client, everyService)
