package override

const (
	hypervisors = "only nova-compute reads it, which is configured with the hypervisors"
	proxied     = "the port and the certificate of the proxy are derived from its Service"
	answers     = "links in responses must begin with the public URL"
	reached     = "endpoints and credentials are set by the control plane"
	absent      = "the control plane does not have this service"
	debugger    = "a remote debugger can run any code"
	backdoor    = "clients of the backdoor can run any code"
	processes   = "each pod has one process, which stops gracefully, and the number of pods has a field"
	vendor      = "with vendor data, Nova could call any address inside the cluster"
	limits      = "limits are stored in Nova or in Keystone"
	graceful    = "the time to stop is derived from the grace period of the pod"
	upcall      = "cells have access neither to the API database nor to the scheduler"
	ofImage     = "it selects classes in the image"
)

// Owners of options in nova.conf (https://docs.openstack.org/nova/latest/configuration/config.html) in
// the control plane. Options that only nova-compute reads are not required here: checkReaders rejects them.
var _ = add("nova", table{
	"DEFAULT": {
		"api_paste_config":          reserved(files),
		"backdoor_port":             reserved(backdoor),
		"backdoor_socket":           reserved(backdoor),
		"cert":                      reserved(proxied),
		"client_socket_timeout":     reserved(uwsgi),
		"compute_driver":            reserved(hypervisors),
		"concurrency_backend":       reserved("Nova determines it before it reads this file"),
		"config_drive_format":       reserved(hypervisors),
		"console_host":              reserved(hypervisors),
		"daemon":                    reserved("the first process of a container must be the server"),
		"enabled_apis":              reserved(uwsgi),
		"enabled_ssl_apis":          reserved(uwsgi),
		"graceful_shutdown_timeout": reserved(graceful),
		"host":                      reserved("the host name of a process must be its pod name"),
		"injected_network_template": reserved(hypervisors),
		"instance_name_template":    reserved("existing servers have names of this form on hypervisors"),
		"instances_path":            reserved(hypervisors),
		"key":                       reserved(proxied),
		"manager_shutdown_timeout":  reserved(graceful),
		"max_header_line":           reserved(uwsgi),
		"metadata_listen":           reserved(uwsgi),
		"metadata_listen_port":      reserved(uwsgi),
		"metadata_workers":          use("uwsgi.processes", uwsgi),
		"mkisofs_cmd":               reserved(hypervisors),
		"my_block_storage_ip":       reserved(hypervisors),
		"my_ip":                     reserved("each pod has its own address"),
		"my_shared_fs_storage_ip":   reserved(hypervisors),
		"osapi_compute_listen":      reserved(uwsgi),
		"osapi_compute_listen_port": reserved(uwsgi),
		"osapi_compute_workers":     use("uwsgi.processes", uwsgi),
		"pybasedir":                 reserved(files),
		"record":                    reserved(files),
		"rootwrap_config":           reserved(files),
		"servicegroup_driver":       reserved("the state of processes is in the database"),
		"source_is_ipv6":            reserved(proxied),
		"ssl_only":                  reserved(proxied),
		"state_path":                reserved(files),
		"tcp_keepidle":              reserved(uwsgi),
		"tempdir":                   reserved(files),
		"virt_mkfs":                 reserved(hypervisors),
		"web":                       reserved(files),
		"wsgi_default_pool_size":    reserved(uwsgi),
		"wsgi_keep_alive":           reserved(uwsgi),
		"wsgi_log_format":           reserved(uwsgi),
		"wsgi_server_debug":         reserved(uwsgi),
	},
	"api": {
		"auth_strategy":                   reserved("tokens are always required"),
		"compute_link_prefix":             reserved(answers),
		"glance_link_prefix":              reserved(answers),
		"local_metadata_per_cell":         use("metadata.perCell", "it is derived from the location of the metadata API"),
		"vendordata_dynamic_ssl_certfile": reserved(vendor),
		"vendordata_dynamic_targets":      reserved(vendor),
		"vendordata_jsonfile_path":        reserved(files),
		"vendordata_providers":            reserved(vendor),
	},
	"api_database": {
		"backend":               reserved(pods),
		"connection_debug":      reserved(loggedRows),
		"connection_parameters": reserved(databaseURL),
		"mysql_wsrep_sync_wait": reserved("it depends on whether the database is a Galera cluster"),
	},
	"cinder":    peer("cross_az_attach", "debug", "http_retries"),
	"compute":   {"provider_config_location": reserved(hypervisors)},
	"conductor": {"workers": use("conductor", processes)},
	"cyborg":    {every: reserved(absent)},
	"devices":   {every: reserved(hypervisors)},
	"filter_scheduler": {
		"available_filters":      tenantOption(ofImage),
		"isolated_hosts":         tenantOption("it contains names of hypervisors, which are not used to connect"),
		"track_instance_changes": reserved(upcall + ", and neither have their hypervisors"),
		"weight_classes":         tenantOption(ofImage),
	},
	"glance": adapted(
		"debug", "default_trusted_certificate_ids", "enable_certificate_validation", "num_retries", "verify_glance_signatures"),
	"guestfs": {every: reserved(hypervisors)},
	"image_cache": {
		"precache_concurrency": tenantOption("the conductor reads it: it limits on how many hypervisors an image is cached at the same time"),
		every:                  reserved(hypervisors),
	},
	"ironic":         {every: reserved(absent)},
	"keystone":       adapted(),
	"libvirt":        {every: reserved(hypervisors)},
	"manila":         {every: reserved(absent)},
	"mks":            {every: reserved(absent)},
	"neutron":        adapted("default_floating_pool", "extension_sync_interval", "http_retries"),
	"nova_sys_admin": {every: reserved(hypervisors)},
	"os_brick":       {every: reserved(hypervisors)},
	"oslo_limit":     {every: reserved(reached)},
	"oslo_reports": {
		"file_event_handler": reserved(files),
		"log_dir":            reserved(logs),
	},
	"placement":       adapted(),
	"privsep":         {every: reserved(hypervisors)},
	"privsep_osbrick": {every: reserved(hypervisors)},
	"quota": {
		"cores":     use("quotas.cores", limits),
		"driver":    reserved("limits are stored in Nova"),
		"instances": use("quotas.instances", limits),
		"ram":       use("quotas.memoryMiB", limits),
	},
	"remote_debug": {every: reserved(debugger)},
	"scheduler": {
		"discover_hosts_in_cells_interval": reserved("the companion discovers new hypervisors: only one process may do so at a time"),
		"workers":                          use("scheduler", processes),
	},
	"serial_console": {
		"enabled":          use("consoles.serial", "the proxies are derived from it"),
		"serialproxy_host": reserved(proxied),
		"serialproxy_port": reserved(proxied),
		every:              reserved(hypervisors),
	},
	"service_user": {every: reserved(reached)},
	"spice": {
		"enabled":         use("consoles.graphical", "the proxies are derived from it"),
		"html5proxy_host": reserved(proxied),
		"html5proxy_port": reserved(proxied),
		every:             reserved(hypervisors),
	},
	"ssl":                     {every: reserved(uwsgi)},
	"upgrade_levels":          {every: reserved("RPC versions are determined by the oldest process, also during upgrades")},
	"vendordata_dynamic_auth": {every: reserved(vendor)},
	"vmware":                  {every: reserved(hypervisors)},
	"vnc": {
		"enabled":              use("consoles.graphical", "the proxies are derived from it"),
		"auth_schemes":         use("consoles.vnc.tls", "hypervisors without TLS are accepted or rejected by it"),
		"novncproxy_base_url":  reserved(hypervisors),
		"novncproxy_host":      reserved(proxied),
		"novncproxy_port":      reserved(proxied),
		"vencrypt_ca_certs":    reserved(files),
		"vencrypt_client_cert": reserved(files),
		"vencrypt_client_key":  reserved(files),
		every:                  reserved(hypervisors),
	},
	"workarounds": {"disable_group_policy_check_upcall": reserved(upcall)},
	"wsgi": {
		"api_paste_config":        reserved("the pipeline must contain Keystone's middleware, which requires tokens"),
		"secure_proxy_ssl_header": reserved("whether proxy headers are trusted depends on the proxy in front of the pods"),
		every:                     reserved(uwsgi),
	},
	"zvm": {every: reserved(hypervisors)},
}, queue, client, everyService)

// peer returns the owners of a group with the connection to another service. The tenant may set the timeout and the given
// options.
func peer(tenant ...string) map[string]owner {
	out := map[string]owner{every: reserved(reached), "timeout": tenantOption("the tenant decides the timeout for other services")}
	for _, option := range tenant {
		out[option] = tenantOption("it changes neither the endpoint nor the credentials")
	}
	return out
}

// adapted returns the owners of a peer group with keystoneauth's adapter, which supports retries.
func adapted(tenant ...string) map[string]owner {
	next := []string{"connect_retries", "connect_retry_delay", "retriable_status_codes", "status_code_retries", "status_code_retry_delay"}
	return peer(append(next, tenant...)...)
}
