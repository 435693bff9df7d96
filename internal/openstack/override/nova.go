package override

const (
	hypervisors = "nova-compute reads this, which is configured with the hypervisors"
	proxied     = "the proxy's port and its certificate are those of its Service"
	answers     = "links in answers begin with the public address"
	reached     = "which address is asked, and as whom, follows from the rest of the control plane"
	absent      = "the control plane has no such service"
	debugger    = "a debugger at another host runs whatever it likes"
	backdoor    = "whoever reaches it runs whatever they like"
	processes   = "a pod has one process, which ends as it should when it is told to, and how many pods there are has a field"
	vendor      = "what virtual machines are told comes from Nova alone, which would reach any address from inside the cluster"
	limits      = "Nova keeps limits itself or asks Keystone for them"
	graceful    = "how long a process may take to end follows from how long its pod may"
	upcall      = "a cell reaches neither the API's database nor the scheduler"
	ofImage     = "it names classes of the image, and reaches nothing"
)

// nova is nova.conf (https://docs.openstack.org/nova/latest/configuration/config.html) of what runs in the control plane. An option that
// nova-compute alone reads need not be here: checkReaders refuses it.
var nova = table{
	"DEFAULT": {
		"api_paste_config":          ours(files),
		"backdoor_port":             ours(backdoor),
		"backdoor_socket":           ours(backdoor),
		"cert":                      ours(proxied),
		"client_socket_timeout":     ours(uwsgi),
		"compute_driver":            ours(hypervisors),
		"concurrency_backend":       ours("Nova decides on it before it reads this file"),
		"config_drive_format":       ours(hypervisors),
		"console_host":              ours(hypervisors),
		"daemon":                    ours("a container's first process is the one that serves"),
		"enabled_apis":              ours(uwsgi),
		"enabled_ssl_apis":          ours(uwsgi),
		"graceful_shutdown_timeout": ours(graceful),
		"host":                      ours("a process is known by the name of its pod, under which it is recorded"),
		"injected_network_template": ours(hypervisors),
		"instance_name_template":    ours("hypervisors know virtual machines by names of this form"),
		"instances_path":            ours(hypervisors),
		"key":                       ours(proxied),
		"manager_shutdown_timeout":  ours(graceful),
		"max_header_line":           ours(uwsgi),
		"metadata_listen":           ours(uwsgi),
		"metadata_listen_port":      ours(uwsgi),
		"metadata_workers":          use("uwsgi.processes", uwsgi),
		"mkisofs_cmd":               ours(hypervisors),
		"my_block_storage_ip":       ours(hypervisors),
		"my_ip":                     ours("each pod has an address of its own"),
		"my_shared_fs_storage_ip":   ours(hypervisors),
		"osapi_compute_listen":      ours(uwsgi),
		"osapi_compute_listen_port": ours(uwsgi),
		"osapi_compute_workers":     use("uwsgi.processes", uwsgi),
		"pybasedir":                 ours(files),
		"record":                    ours(files),
		"rootwrap_config":           ours(files),
		"servicegroup_driver":       ours("the database says which processes live"),
		"source_is_ipv6":            ours(proxied),
		"ssl_only":                  ours(proxied),
		"state_path":                ours(files),
		"tcp_keepidle":              ours(uwsgi),
		"tempdir":                   ours(files),
		"virt_mkfs":                 ours(hypervisors),
		"web":                       ours(files),
		"wsgi_default_pool_size":    ours(uwsgi),
		"wsgi_keep_alive":           ours(uwsgi),
		"wsgi_log_format":           ours(uwsgi),
		"wsgi_server_debug":         ours(uwsgi),
	},
	"api": {
		"auth_strategy":                   ours("without it, nobody would be asked for a token"),
		"compute_link_prefix":             ours(answers),
		"glance_link_prefix":              ours(answers),
		"local_metadata_per_cell":         use("metadata.perCell", "it follows from where the metadata API runs"),
		"vendordata_dynamic_ssl_certfile": ours(vendor),
		"vendordata_dynamic_targets":      ours(vendor),
		"vendordata_jsonfile_path":        ours(files),
		"vendordata_providers":            ours(vendor),
	},
	"api_database": {
		"backend":               ours(pods),
		"connection_parameters": ours(databaseURL),
		"mysql_wsrep_sync_wait": ours("it follows from whether the database is a Galera cluster"),
	},
	"cinder":    peer("cross_az_attach", "debug", "http_retries"),
	"compute":   {"provider_config_location": ours(hypervisors)},
	"conductor": {"workers": use("conductor", processes)},
	"cyborg":    {every: ours(absent)},
	"devices":   {every: ours(hypervisors)},
	"filter_scheduler": {
		"available_filters":      tenantOption(ofImage),
		"isolated_hosts":         tenantOption("it names hypervisors, which are not reached by that name"),
		"track_instance_changes": ours(upcall + ", and so does no hypervisor of it"),
		"weight_classes":         tenantOption(ofImage),
	},
	"glance": adapted(
		"debug", "default_trusted_certificate_ids", "enable_certificate_validation", "num_retries", "verify_glance_signatures"),
	"guestfs": {every: ours(hypervisors)},
	"image_cache": {
		"precache_concurrency": tenantOption("the conductor reads it: it says on how many hypervisors at a time an image is cached"),
		every:                  ours(hypervisors),
	},
	"ironic":         {every: ours(absent)},
	"keystone":       adapted(),
	"libvirt":        {every: ours(hypervisors)},
	"manila":         {every: ours(absent)},
	"mks":            {every: ours(absent)},
	"neutron":        adapted("default_floating_pool", "extension_sync_interval", "http_retries"),
	"nova_sys_admin": {every: ours(hypervisors)},
	"os_brick":       {every: ours(hypervisors)},
	"oslo_limit":     {every: ours(reached)},
	"oslo_reports": {
		"file_event_handler": ours(files),
		"log_dir":            ours(logs),
	},
	"placement":       adapted(),
	"privsep":         {every: ours(hypervisors)},
	"privsep_osbrick": {every: ours(hypervisors)},
	"quota": {
		"cores":     use("quotas.cores", limits),
		"driver":    ours("Nova keeps the limits itself"),
		"instances": use("quotas.instances", limits),
		"ram":       use("quotas.memoryMiB", limits),
	},
	"remote_debug": {every: ours(debugger)},
	"scheduler": {
		"discover_hosts_in_cells_interval": ours("the companion looks for new hypervisors: one process at a time may"),
		"workers":                          use("scheduler", processes),
	},
	"serial_console": {
		"enabled":          use("consoles.serial", "there are proxies where there are consoles"),
		"serialproxy_host": ours(proxied),
		"serialproxy_port": ours(proxied),
		every:              ours(hypervisors),
	},
	"service_user": {every: ours(reached)},
	"spice": {
		"enabled":         use("consoles.graphical", "there are proxies where there are consoles"),
		"html5proxy_host": ours(proxied),
		"html5proxy_port": ours(proxied),
		every:             ours(hypervisors),
	},
	"ssl":                     {every: ours(uwsgi)},
	"upgrade_levels":          {every: ours("what processes say to each other follows from the oldest of them, also while they are upgraded")},
	"vendordata_dynamic_auth": {every: ours(vendor)},
	"vmware":                  {every: ours(hypervisors)},
	"vnc": {
		"enabled":              use("consoles.graphical", "there are proxies where there are consoles"),
		"auth_schemes":         ours("the proxies have no certificate that a hypervisor would ask for"),
		"novncproxy_base_url":  ours(hypervisors),
		"novncproxy_host":      ours(proxied),
		"novncproxy_port":      ours(proxied),
		"vencrypt_ca_certs":    ours(files),
		"vencrypt_client_cert": ours(files),
		"vencrypt_client_key":  ours(files),
		every:                  ours(hypervisors),
	},
	"workarounds": {"disable_group_policy_check_upcall": ours(upcall)},
	"wsgi": {
		"api_paste_config":        ours("without Keystone in the pipeline, nobody would be asked for a token"),
		"secure_proxy_ssl_header": ours("whether headers of a proxy are believed follows from what stands before the pods"),
		every:                     ours(uwsgi),
	},
	"zvm": {every: ours(hypervisors)},
}

// peer is a group by which another service is asked: how patiently is the tenant's decision, as are the options that are named.
func peer(tenant ...string) map[string]owner {
	out := map[string]owner{every: ours(reached), "timeout": tenantOption("how long to wait for another service is the tenant's decision")}
	for _, option := range tenant {
		out[option] = tenantOption("it says neither whom to ask nor as whom")
	}
	return out
}

// adapted is a peer that keystoneauth's adapter asks, which tries again.
func adapted(tenant ...string) map[string]owner {
	next := []string{"connect_retries", "connect_retry_delay", "retriable_status_codes", "status_code_retries", "status_code_retry_delay"}
	return peer(append(next, tenant...)...)
}
