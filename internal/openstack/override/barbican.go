package override

const (
	reasonKEKRetained = "the keys are made, kept and rotated with the control plane"
	vaults            = "where secrets are kept has a field, and what is kept elsewhere could be read no more"
	noHSM             = "the image has no library of a hardware security module"
	unnotified        = "Keystone has no message queue to tell of its projects by"
	orders            = "workers and the API have to agree on it"
)

// barbican is barbican.conf (https://docs.openstack.org/barbican/latest/configuration/config.html).
var barbican = table{
	"DEFAULT": {
		"admin_role":                ours("the access rules say who may do what"),
		"allow_anonymous_access":    ours("without it, nobody would be asked for a token"),
		"backdoor_port":             ours(backdoor),
		"backdoor_socket":           ours(backdoor),
		"db_auto_create":            ours("the schema is made and upgraded by Jobs, one at a time, and not by each pod"),
		"executor_thread_pool_size": ours("how many connections to the database there may be follows from it"),
		"graceful_shutdown_timeout": ours(graceful),
		"host_href":                 ours(answers),
	},
	"crypto":                 {every: ours(reasonKEKRetained)},
	"dogtag_plugin":          {every: ours(noHSM)},
	"keystone_notifications": {every: ours(unnotified)},
	"p11_crypto_plugin":      {every: ours(noHSM)},
	"queue": {
		every:                  ours(orders),
		"asynchronous_workers": use("worker", processes),
	},
	"retry_scheduler":      {every: ours("nothing that can be ordered is tried again")},
	"secretstore":          {every: use("vault", vaults)},
	"simple_crypto_plugin": {every: use("keys", reasonKEKRetained)},
	"vault_plugin":         {every: use("vault", vaults)},
}
