package override

const (
	stackUsers           = "users that stacks make are in a domain of their own, with an administrator that is made with it"
	guests               = "what virtual machines are told follows from the public addresses"
	clients              = "services are asked at the cluster's own addresses, and known by the control plane's authority"
	clouds               = "it trusts the Keystone of the control plane alone"
	reasonStacksRetained = "stacks are kept with the user that asked for them by trusts, and are the convergence engine's"
)

// heat is heat.conf (https://docs.openstack.org/heat/latest/configuration/config-options.html).
var heat = table{
	"DEFAULT": {
		"backdoor_port":                 ours(backdoor),
		"backdoor_socket":               ours(backdoor),
		"cloud_backend":                 ours("this names code to be loaded"),
		"convergence_engine":            ours(reasonStacksRetained),
		"deferred_auth_method":          ours(reasonStacksRetained),
		"environment_dir":               ours(files),
		"graceful_shutdown_timeout":     ours(graceful),
		"heat_metadata_server_url":      use("cfn.hostname", guests),
		"heat_stack_user_role":          ours("it is the role that is made for them"),
		"heat_waitcondition_server_url": use("cfn.hostname", guests),
		"host":                          ours("engines share what waits for any of them by it"),
		"instance_connection_https_validate_certificates": tenantOption("virtual machines read it, and nothing here does"),
		"instance_connection_is_secure":                   ours(guests),
		"keystone_backend":                                ours("this names code to be loaded"),
		"loadbalancer_template":                           ours(files),
		"num_engine_workers":                              use("engine.memory", "a pod has as many workers as its memory holds"),
		"plugin_dirs":                                     ours("this names code to be loaded"),
		"region_name_for_services":                        ours(reached),
		"region_name_for_shared_services":                 ours("the control plane has one region"),
		"server_keystone_endpoint_type":                   ours(guests),
		"shared_services_types":                           ours("the control plane has one region"),
		"stack_domain_admin":                              ours(stackUsers),
		"stack_user_domain_id":                            ours(stackUsers),
		"stack_user_domain_name":                          ours(stackUsers),
		"template_dir":                                    ours(files),
	},
	"auth_password":     {every: ours(clouds)},
	"clients":           {every: ours(clients)},
	"clients_aodh":      {every: ours(clients)},
	"clients_barbican":  {every: ours(clients)},
	"clients_cinder":    asked(),
	"clients_designate": {every: ours(clients)},
	"clients_glance":    {every: ours(clients)},
	"clients_heat":      {every: ours(guests)},
	"clients_keystone":  {every: ours(clients)},
	"clients_magnum":    {every: ours(clients)},
	"clients_manila":    {every: ours(clients)},
	"clients_mistral":   {every: ours(clients)},
	"clients_monasca":   {every: ours(clients)},
	"clients_neutron":   {every: ours(clients)},
	"clients_nova":      asked(),
	"clients_octavia":   {every: ours(clients)},
	"clients_swift":     {every: ours(clients)},
	"clients_trove":     {every: ours(clients)},
	"clients_vitrage":   {every: ours(clients)},
	"clients_zaqar":     {every: ours(clients)},
	"ec2authtoken":      {every: ours(clouds)},
	"eventlet_opts":     {every: ours(uwsgi)},
	"heat_api":          {every: ours(uwsgi)},
	"heat_api_cfn":      {every: ours(uwsgi)},
	"noauth":            {every: ours("without it, nobody would be asked for a token")},
	"oslo_reports": {
		"file_event_handler": ours(files),
		"log_dir":            ours(logs),
	},
	"paste_deploy": {every: ours(files)},
	"trustee":      {every: ours(clouds)},
}

// asked are the options of a client whose requests may be written to the log.
func asked() map[string]owner {
	return map[string]owner{every: ours(clients), "http_log_debug": tenantOption("it says neither whom to ask nor as whom")}
}
