package override

const (
	stackUsers           = "users created by stacks are in a separate domain, whose administrator is created with it"
	serverURLs           = "URLs for servers are derived from the public URLs"
	clients              = "services are called at their internal endpoints and verified with the control plane's CA"
	clouds               = "only the Keystone of the control plane is trusted"
	reasonStacksRetained = "existing stacks depend on trusts and the convergence engine"
)

// Owners of options in heat.conf
// (https://docs.openstack.org/heat/latest/configuration/config-options.html).
var _ = add("heat", table{
	"DEFAULT": {
		"backdoor_port":                 reserved(backdoor),
		"backdoor_socket":               reserved(backdoor),
		"cloud_backend":                 reserved("it would load code"),
		"convergence_engine":            reserved(reasonStacksRetained),
		"deferred_auth_method":          reserved(reasonStacksRetained),
		"environment_dir":               reserved(files),
		"graceful_shutdown_timeout":     reserved(graceful),
		"heat_metadata_server_url":      use("cfn.hostname", serverURLs),
		"heat_stack_user_role":          reserved("this role is created for them"),
		"heat_waitcondition_server_url": use("cfn.hostname", serverURLs),
		"host":                          reserved("engines must have the same value to share their work"),
		"instance_connection_https_validate_certificates": tenantOption("only servers read it"),
		"instance_connection_is_secure":                   reserved(serverURLs),
		"keystone_backend":                                reserved("it would load code"),
		"loadbalancer_template":                           reserved(files),
		"num_engine_workers":                              use("engine.memory", "the number of workers is derived from the memory of the pod"),
		"plugin_dirs":                                     reserved("it would load code"),
		"region_name_for_services":                        reserved(reached),
		"region_name_for_shared_services":                 reserved("the control plane has only one region"),
		"server_keystone_endpoint_type":                   reserved(serverURLs),
		"shared_services_types":                           reserved("the control plane has only one region"),
		"stack_domain_admin":                              reserved(stackUsers),
		"stack_user_domain_id":                            reserved(stackUsers),
		"stack_user_domain_name":                          reserved(stackUsers),
		"template_dir":                                    reserved(files),
	},
	"auth_password":     {every: reserved(clouds)},
	"clients":           {every: reserved(clients)},
	"clients_aodh":      {every: reserved(clients)},
	"clients_barbican":  {every: reserved(clients)},
	"clients_cinder":    loggedClient(),
	"clients_designate": {every: reserved(clients)},
	"clients_glance":    {every: reserved(clients)},
	"clients_heat":      {every: reserved(serverURLs)},
	"clients_keystone":  {every: reserved(clients)},
	"clients_magnum":    {every: reserved(clients)},
	"clients_manila":    {every: reserved(clients)},
	"clients_mistral":   {every: reserved(clients)},
	"clients_monasca":   {every: reserved(clients)},
	"clients_neutron":   {every: reserved(clients)},
	"clients_nova":      loggedClient(),
	"clients_octavia":   {every: reserved(clients)},
	"clients_swift":     {every: reserved(clients)},
	"clients_trove":     {every: reserved(clients)},
	"clients_vitrage":   {every: reserved(clients)},
	"clients_zaqar":     {every: reserved(clients)},
	"ec2authtoken":      {every: reserved(clouds)},
	"eventlet_opts":     {every: reserved(uwsgi)},
	"heat_api":          {every: reserved(uwsgi)},
	"heat_api_cfn":      {every: reserved(uwsgi)},
	"noauth":            {every: reserved("tokens are always required")},
	"oslo_reports": {
		"file_event_handler": reserved(files),
		"log_dir":            reserved(logs),
	},
	"paste_deploy": {every: reserved(files)},
	"trustee":      {every: reserved(clouds)},
}, queue, client, everyService)

// loggedClient returns the owners of the options of a client whose requests can be logged.
func loggedClient() map[string]owner {
	return map[string]owner{every: reserved(clients), "http_log_debug": tenantOption("it changes neither the endpoint nor the credentials")}
}
