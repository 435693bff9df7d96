package override

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// reservedOptions are options that a tenant cannot set, by table and group. * stands for all options of a group.
var reservedOptions = map[string]map[string]string{
	"every service": {
		"DEFAULT": "config_file config_dir config_source log_config_append log_dir log_file use_stderr use_syslog use_journal watch_log_file",
		"cache": "backend backend_argument memcache_servers memcache_sasl_enabled memcache_username username proxies debug_cache_backend redis_db redis_sentinels redis_server " +
			"redis_username redis_sentinel_service_name tls_enabled tls_cafile tls_certfile tls_keyfile tls_allowed_ciphers",
		"database":                "backend connection_debug connection_parameters mysql_wsrep_sync_wait",
		"oslo_concurrency":        "lock_path",
		"oslo_messaging_metrics":  "*",
		"oslo_middleware":         "enable_proxy_headers_parsing http_basic_auth_user_file",
		"oslo_middleware_tracing": "*",
		"oslo_policy":             "policy_file policy_dirs policy_default_rule enforce_scope enforce_new_defaults *",
		"profiler":                "*",
		"profiler_jaeger":         "*",
		"profiler_otlp":           "*",
		"healthcheck":             "*",
	},
	"without queue": {
		"oslo_messaging_kafka":         "*",
		"oslo_messaging_notifications": "driver",
		"oslo_messaging_rabbit":        "*",
	},
	"client": {
		"barbican":              "*",
		"barbican_service_user": "*",
		"key_manager":           "*",
		"keystone_authtoken":    "*",
		"oslo_limit":            "*",
		"vault":                 "*",
	},
	"keystone": {
		"DEFAULT":                "insecure_debug public_endpoint",
		"application_credential": "driver",
		"assignment":             "driver",
		"auth":                   "application_credential ec2credential external mapped oauth1 openid password token totp",
		"catalog":                "driver",
		"credential":             "driver key_repository provider",
		"domain_config":          "driver",
		"endpoint_filter":        "driver",
		"endpoint_policy":        "driver",
		"eventlet_server":        "*",
		"federation":             "driver remote_id_attribute sso_callback_template trusted_dashboard",
		"fernet_receipts":        "*",
		"fernet_tokens":          "key_repository max_active_keys",
		"identity":               "default_domain_id domain_config_dir domain_configurations_from_database domain_specific_drivers_enabled driver",
		"identity_mapping":       "driver generator",
		"jwt_tokens":             "*",
		"keystone_authtoken":     "*",
		"ldap":                   "*",
		"oauth1":                 "driver",
		"policy":                 "driver",
		"receipt":                "expiration provider",
		"resource":               "driver",
		"security_compliance": "allow_insecure_admin_trust_cross_project_credentials_access " +
			"allow_insecure_application_credential_trust_escalation report_invalid_password_hash",
		"revoke":         "driver",
		"role":           "driver",
		"saml":           "*",
		"saml2":          "remote_id_attribute",
		"shadow_users":   "driver",
		"token":          "allow_expired_window expiration provider",
		"tokenless_auth": "*",
		"wsgi":           "debug_middleware",
		"trust":          "driver",
		"unified_limit":  "driver",
	},
	"placement": {
		"DEFAULT":            "pybasedir state_path tempdir",
		"api":                "auth_strategy",
		"placement_database": "connection_debug connection_parameters sync_on_startup",
	},
	"glance": {
		"DEFAULT": "backlog bind_host bind_port client_socket_timeout daemon default_swift_reference delayed_delete enabled_backends " +
			"enabled_import_methods http_keepalive image_cache_dir image_cache_driver image_cache_max_size image_cache_sqlite_db max_header_line " +
			"metadata_source_path node_staging_uri property_protection_file public_endpoint pydev_worker_debug_host pydev_worker_debug_port " +
			"restore scrub_pool_size scrub_time show_image_direct_url show_multiple_locations swift_store_auth_address swift_store_config_file " +
			"swift_store_key swift_store_user tcp_keepidle use_keystone_limits wakeup_time worker_self_reference_url workers",
		"backend_defaults":        "*",
		"glance_store":            "*",
		"image_conversion":        "output_format",
		"image_format":            "gpt_safety_checks_nonfatal require_image_format_match vmdk_allowed_types",
		"image_import_opts":       "image_import_plugins",
		"import_filtering_opts":   "allowed_hosts allowed_ports allowed_schemes disallowed_hosts disallowed_ports disallowed_schemes",
		"os_glance_staging_store": "*",
		"os_glance_tasks_store":   "*",
		"oslo_reports":            "file_event_handler log_dir",
		"paste_deploy":            "*",
		"task":                    "task_executor work_dir",
		"wsgi":                    "python_interpreter",
		"<file>":                  "filesystem_store_datadir filesystem_store_datadirs filesystem_store_metadata_file store_description",
		"<http>":                  "*",
		"<rbd>":                   "rbd_store_ceph_conf rbd_store_pool rbd_store_user store_description",
		"<s3>": "s3_store_access_key s3_store_bucket s3_store_bucket_url_format s3_store_cacert s3_store_create_bucket_on_put s3_store_host " +
			"s3_store_region_name s3_store_secret_key store_description",
		"<swift>": "store_description default_swift_reference swift_buffer_on_upload swift_store_admin_tenants swift_store_application_credential_id " +
			"swift_store_application_credential_secret swift_store_auth_address swift_store_auth_insecure swift_store_auth_version swift_store_cacert " +
			"swift_store_config_file swift_store_container swift_store_create_container_on_put swift_store_endpoint swift_store_key " +
			"swift_store_multi_tenant swift_store_project_id swift_store_project_name swift_store_region swift_store_use_trusts swift_store_user " +
			"swift_upload_buffer_dir",
		"<vmware>": "*",
	},
	"barbican": {
		"DEFAULT": "admin_role allow_anonymous_access backdoor_port backdoor_socket db_auto_create executor_thread_pool_size " +
			"graceful_shutdown_timeout host_href",
		"crypto":                 "*",
		"dogtag_plugin":          "*",
		"keystone_notifications": "*",
		"p11_crypto_plugin":      "*",
		"queue":                  "asynchronous_workers *",
		"retry_scheduler":        "*",
		"secretstore":            "*",
		"simple_crypto_plugin":   "*",
		"vault_plugin":           "*",
	},
	"heat": {
		"DEFAULT": "backdoor_port backdoor_socket cloud_backend convergence_engine deferred_auth_method environment_dir graceful_shutdown_timeout " +
			"heat_metadata_server_url heat_stack_user_role heat_waitcondition_server_url host instance_connection_is_secure keystone_backend " +
			"loadbalancer_template num_engine_workers plugin_dirs region_name_for_services region_name_for_shared_services " +
			"server_keystone_endpoint_type shared_services_types stack_domain_admin stack_user_domain_id stack_user_domain_name template_dir",
		"auth_password":     "*",
		"clients":           "*",
		"clients_aodh":      "*",
		"clients_barbican":  "*",
		"clients_cinder":    "*",
		"clients_designate": "*",
		"clients_glance":    "*",
		"clients_heat":      "*",
		"clients_keystone":  "*",
		"clients_magnum":    "*",
		"clients_manila":    "*",
		"clients_mistral":   "*",
		"clients_monasca":   "*",
		"clients_neutron":   "*",
		"clients_nova":      "*",
		"clients_octavia":   "*",
		"clients_swift":     "*",
		"clients_trove":     "*",
		"clients_vitrage":   "*",
		"clients_zaqar":     "*",
		"ec2authtoken":      "*",
		"eventlet_opts":     "*",
		"heat_api":          "*",
		"heat_api_cfn":      "*",
		"noauth":            "*",
		"oslo_reports":      "file_event_handler log_dir",
		"paste_deploy":      "*",
		"trustee":           "*",
	},
	"queue": {
		"DEFAULT":                      "control_exchange",
		"oslo_messaging_kafka":         "*",
		"oslo_messaging_notifications": "driver",
		"oslo_messaging_rabbit":        "*",
	},
	"neutron": {
		"DEFAULT": "api_extensions_path api_paste_config api_workers auth_strategy backdoor_port backdoor_socket backlog bind_host " +
			"bind_port client_socket_timeout core_plugin default_availability_zones dns_domain external_dns_driver external_pids " +
			"global_physnet_mtu graceful_shutdown_timeout host interface_driver ipam_driver max_header_line metadata_proxy_socket " +
			"my_ip my_ipv6 network_link_prefix network_scheduler_driver notify_nova_on_port_data_changes " +
			"notify_nova_on_port_status_changes router_distributed router_scheduler_driver rpc_state_report_workers rpc_workers " +
			"service_plugins state_path tcp_keepidle use_ssl wsgi_default_pool_size wsgi_keep_alive wsgi_log_format wsgi_server_debug",
		"agent":           "*",
		"designate":       "*",
		"dhcp":            "*",
		"dns_forwarder":   "*",
		"fdb":             "*",
		"ironic":          "*",
		"macvtap":         "*",
		"metadata":        "*",
		"ml2":             "extension_drivers mechanism_drivers path_mtu physical_network_mtus project_network_types tenant_network_types type_drivers",
		"ml2_type_flat":   "flat_networks",
		"ml2_type_geneve": "vni_ranges max_header_size",
		"ml2_type_vlan":   "network_vlan_ranges",
		"ml2_type_vxlan":  "vni_ranges",
		"network_log":     "local_output_log_base",
		"nova":            "*",
		"oslo_reports":    "file_event_handler log_dir",
		"ovn": "dns_servers enable_distributed_floating_ip neutron_sync_mode ovn_metadata_enabled ovn_nb_ca_cert ovn_nb_certificate " +
			"ovn_nb_connection ovn_nb_private_key ovn_sb_ca_cert ovn_sb_certificate ovn_sb_connection ovn_sb_private_key",
		"ovs":                  "*",
		"placement":            "*",
		"privsep":              "*",
		"privsep_conntrack":    "*",
		"privsep_dhcp_release": "*",
		"privsep_link":         "*",
		"privsep_namespace":    "*",
		"privsep_ovs_vsctl":    "*",
		"quotas": "quota_driver quota_floatingip quota_network quota_port quota_router quota_security_group quota_security_group_rule " +
			"quota_subnet",
		"securitygroup":     "firewall_driver",
		"service_providers": "*",
		"sriov_driver":      "vnic_type_prohibit_list",
		"sriov_nic":         "*",
		"ssl":               "*",
	},
	"cinder": {
		"<nfs>": "backend_availability_zone chap_password chap_username chiscsi_conf driver_client_cert driver_client_cert_key " +
			"driver_data_namespace driver_ssl_cert_path driver_ssl_cert_verify driver_use_ssl enable_unsupported_driver nas_host " +
			"nas_login nas_mount_options nas_password nas_private_key nas_secure_file_operations nas_secure_file_permissions " +
			"nas_share_path nas_ssh_port nfs_mount_options nfs_mount_point_base nfs_shares_config replication_device storage_protocol " +
			"target_helper target_ip_address target_port target_prefix target_protocol trace_flags volume_backend_name " +
			"volume_copy_blkio_cgroup_name volume_driver volumes_dir",
		"<rbd>": "backend_availability_zone chap_password chap_username chiscsi_conf driver_client_cert driver_client_cert_key " +
			"driver_data_namespace driver_ssl_cert_path driver_ssl_cert_verify driver_use_ssl enable_unsupported_driver rbd_ceph_conf " +
			"rbd_cluster_name rbd_pool rbd_secret_uuid rbd_user replication_device storage_protocol target_helper target_ip_address " +
			"target_port target_prefix target_protocol trace_flags volume_backend_name volume_copy_blkio_cgroup_name volume_driver volumes_dir",
		"DEFAULT": "allowed_direct_url_schemes api_paste_config auth_strategy backdoor_port backdoor_socket backend_availability_zone " +
			"backend_host backend_name backup_api_class backup_ceph_conf backup_ceph_pool backup_ceph_user backup_container " +
			"backup_driver backup_gcs_credential_file backup_gcs_proxy_url backup_manager backup_mount_point_base " +
			"backup_name_template backup_posix_path backup_s3_ca_cert_file backup_s3_endpoint_url backup_s3_http_proxy " +
			"backup_s3_https_proxy backup_s3_store_access_key backup_s3_store_bucket backup_s3_store_secret_key backup_s3_verify_ssl " +
			"backup_share backup_swift_auth backup_swift_auth_insecure backup_swift_auth_url backup_swift_ca_cert_file backup_swift_container " +
			"backup_swift_url backup_workers chiscsi_conf " +
			"client_socket_timeout cluster compute_api_class consistencygroup_api_class datera_disable_template_override " +
			"datera_ldap_server default_volume_type driver_client_cert driver_client_cert_key driver_data_namespace " +
			"driver_ssl_cert_path driver_ssl_cert_verify driver_use_ssl dsware_rest_url enable_unsupported_driver enabled_backends " +
			"glance_api_insecure glance_api_servers glance_ca_certificates_file glance_catalog_info glance_certfile glance_keyfile " +
			"glusterfs_backup_mount_point glusterfs_backup_share graceful_shutdown_timeout group_api_class " +
			"hitachi_mirror_ssl_cert_path hitachi_path_group_id hitachi_replication_journal_path_failure_tolerance host " +
			"image_conversion_dir image_upload_use_cinder_backend infortrend_cli_path java_path keystone_catalog_info kioxia_cafile " +
			"kioxia_url max_header_line monkey_patch_modules my_ip osapi_volume_extension osapi_volume_listen " +
			"osapi_volume_listen_port osapi_volume_use_ssl osapi_volume_workers public_endpoint quota_driver " +
			"resource_query_filters_file rootwrap_config san_hosts scheduler_driver scheduler_host_manager " +
			"scheduler_json_config_location scheduler_manager scst_target_driver snapshot_name_template ssh_hosts_key_file state_path " +
			"strict_ssh_host_key_policy swift_catalog_info target_helper tcp_keepidle trace_flags transfer_api_class vmdk_allowed_types " +
			"volume_api_class volume_backend_name volume_manager volume_name_template volumes_dir vrts_target_config " +
			"wsgi_default_pool_size wsgi_keep_alive wsgi_log_format wsgi_server_debug",
		"backend":              "*",
		"backend_defaults":     "*",
		"brcd_fabric_example":  "*",
		"cinder_sys_admin":     "*",
		"cisco_fabric_example": "*",
		"coordination":         "*",
		"fc-zone-manager":      "*",
		"glance":               "*",
		"nova":                 "*",
		"os_brick":             "*",
		"oslo_reports":         "file_event_handler log_dir",
		"privsep":              "*",
		"privsep_osbrick":      "*",
		"service_user":         "*",
		"ssl":                  "*",
	},
	"nova": {
		"DEFAULT": "api_paste_config backdoor_port backdoor_socket cert client_socket_timeout compute_driver concurrency_backend config_drive_format " +
			"console_host daemon enabled_apis enabled_ssl_apis graceful_shutdown_timeout host injected_network_template instance_name_template " +
			"instances_path key manager_shutdown_timeout max_header_line metadata_listen metadata_listen_port metadata_workers mkisofs_cmd " +
			"my_block_storage_ip my_ip my_shared_fs_storage_ip osapi_compute_listen osapi_compute_listen_port osapi_compute_workers pybasedir record " +
			"rootwrap_config servicegroup_driver source_is_ipv6 ssl_only state_path tcp_keepidle tempdir virt_mkfs web wsgi_default_pool_size " +
			"wsgi_keep_alive wsgi_log_format wsgi_server_debug",
		"api": "auth_strategy compute_link_prefix glance_link_prefix local_metadata_per_cell vendordata_dynamic_ssl_certfile vendordata_dynamic_targets " +
			"vendordata_jsonfile_path vendordata_providers",
		"api_database":            "backend connection_debug connection_parameters mysql_wsrep_sync_wait",
		"cinder":                  "*",
		"compute":                 "provider_config_location",
		"conductor":               "workers",
		"cyborg":                  "*",
		"devices":                 "*",
		"filter_scheduler":        "track_instance_changes",
		"glance":                  "*",
		"guestfs":                 "*",
		"image_cache":             "*",
		"ironic":                  "*",
		"keystone":                "*",
		"libvirt":                 "*",
		"manila":                  "*",
		"mks":                     "*",
		"neutron":                 "*",
		"nova_sys_admin":          "*",
		"os_brick":                "*",
		"oslo_limit":              "*",
		"oslo_reports":            "file_event_handler log_dir",
		"placement":               "*",
		"privsep":                 "*",
		"privsep_osbrick":         "*",
		"quota":                   "cores driver instances ram",
		"remote_debug":            "*",
		"scheduler":               "discover_hosts_in_cells_interval workers",
		"serial_console":          "enabled serialproxy_host serialproxy_port *",
		"service_user":            "*",
		"spice":                   "enabled html5proxy_host html5proxy_port *",
		"ssl":                     "*",
		"upgrade_levels":          "*",
		"vendordata_dynamic_auth": "*",
		"vmware":                  "*",
		"vnc":                     "auth_schemes enabled novncproxy_base_url novncproxy_host novncproxy_port vencrypt_ca_certs vencrypt_client_cert vencrypt_client_key *",
		"workarounds":             "disable_group_policy_check_upcall",
		"wsgi":                    "api_paste_config secure_proxy_ssl_header *",
		"zvm":                     "*",
	},
}

// listed contains the tables by name, tablesOf the tables of each service.
var (
	listed = map[string]table{
		"every service": everyService, "without queue": withoutQueue, "client": client, "keystone": keystone, "placement": placement, "glance": glance,
		"queue": queue, "nova": nova, "neutron": neutron, "cinder": cinder, "heat": heat, "barbican": barbican,
	}
	tablesOf = map[string][]string{
		"keystone": {"keystone", "without queue", "every service"}, "placement": {"placement", "client", "every service"},
		"glance": {"glance", "without queue", "client", "every service"}, "nova": {"nova", "queue", "client", "every service"},
		"neutron": {"neutron", "queue", "client", "every service"}, "heat": {"heat", "queue", "client", "every service"},
		"cinder": {"cinder", "queue", "client", "every service"}, "barbican": {"barbican", "queue", "client", "every service"},
	}
)

// reservedDirectoryOptions are reserved options in the file of an LDAP directory.
const reservedDirectoryOptions = "group_tree_dn password suffix tls_cacertdir tls_cacertfile url user user_tree_dn"

// fields maps reserved options of a service to the fields that set them.
var fields = map[string]map[string]string{"every service": {
	"oslo_policy.policy_file": "policy", "oslo_policy.policy_dirs": "policy", "oslo_policy.policy_default_rule": "policy",
}, "keystone": {
	"federation.remote_id_attribute": "federation", "saml2.remote_id_attribute": "federation",
	"federation.trusted_dashboard": "federation.trustedDashboards", "fernet_tokens.max_active_keys": "fernet.maxActiveKeys",
	"identity.domain_config_dir": "identityBackends", "identity.domain_configurations_from_database": "identityBackends",
	"identity.domain_specific_drivers_enabled": "identityBackends", "identity.driver": "identityBackends", "ldap.anything": "identityBackends",
	"token.allow_expired_window": "fernet.allowExpiredWindowSeconds", "token.expiration": "fernet.tokenExpirationSeconds",
}, "glance": {
	"DEFAULT.default_swift_reference": "stores", "DEFAULT.enabled_backends": "stores", "DEFAULT.enabled_import_methods": "import.methods",
	"DEFAULT.image_cache_dir": "imageCache", "DEFAULT.image_cache_driver": "imageCache", "DEFAULT.image_cache_max_size": "imageCache.storageSize",
	"DEFAULT.image_cache_sqlite_db": "imageCache", "DEFAULT.node_staging_uri": "import.staging", "DEFAULT.swift_store_auth_address": "stores",
	"DEFAULT.swift_store_config_file": "stores", "DEFAULT.swift_store_key": "stores", "DEFAULT.swift_store_user": "stores",
	"DEFAULT.workers": "uwsgi.processes", "glance_store.anything": "stores", "backend_defaults.anything": "stores", "image_conversion.output_format": "import.convertTo",
	"image_import_opts.image_import_plugins": "import.convertTo", "import_filtering_opts.allowed_hosts": "import.webDownload.allowedHosts",
	"import_filtering_opts.allowed_ports": "import.webDownload.allowedPorts", "import_filtering_opts.allowed_schemes": "import.webDownload.allowedSchemes",
	"import_filtering_opts.disallowed_hosts": "import.webDownload.allowedHosts", "import_filtering_opts.disallowed_ports": "import.webDownload.allowedPorts",
	"import_filtering_opts.disallowed_schemes": "import.webDownload.allowedSchemes", "os_glance_staging_store.anything": "import.staging",
	"file1.filesystem_store_datadir": "stores", "file1.filesystem_store_datadirs": "stores", "rbd1.rbd_store_ceph_conf": "stores",
	"rbd1.rbd_store_pool": "stores", "rbd1.rbd_store_user": "stores", "s31.s3_store_access_key": "stores", "s31.s3_store_bucket": "stores",
	"s31.s3_store_bucket_url_format": "stores", "s31.s3_store_cacert": "stores", "s31.s3_store_host": "stores", "s31.s3_store_region_name": "stores",
	"s31.s3_store_secret_key": "stores", "swift1.default_swift_reference": "stores", "swift1.swift_store_application_credential_id": "stores",
	"swift1.swift_store_application_credential_secret": "stores", "swift1.swift_store_auth_address": "stores",
	"swift1.swift_store_auth_insecure": "stores", "swift1.swift_store_auth_version": "stores", "swift1.swift_store_cacert": "stores",
	"swift1.swift_store_config_file": "stores", "swift1.swift_store_container": "stores", "swift1.swift_store_key": "stores",
	"swift1.swift_store_project_id": "stores", "swift1.swift_store_project_name": "stores", "swift1.swift_store_region": "stores",
	"swift1.swift_store_user": "stores", "file1.store_description": "stores", "rbd1.store_description": "stores", "s31.store_description": "stores",
	"swift1.store_description": "stores",
}, "neutron": {
	"DEFAULT.api_workers":                "uwsgi.processes",
	"DEFAULT.default_availability_zones": "availabilityZones",
	"DEFAULT.dns_domain":                 "dnsDomain",
	"DEFAULT.global_physnet_mtu":         "ml2.mtu",
	"DEFAULT.service_plugins":            "servicePlugins",
	"ml2.extension_drivers":              "ml2.extensionDrivers",
	"ml2.mechanism_drivers":              "mechanism",
	"ml2.path_mtu":                       "ml2.mtu",
	"ml2.physical_network_mtus":          "ml2.physicalNetworks",
	"ml2.project_network_types":          "ml2.tenantNetworkTypes", "ml2.tenant_network_types": "ml2.tenantNetworkTypes",
	"ml2.type_drivers":                     "ml2.typeDrivers",
	"ml2_type_flat.flat_networks":          "ml2.physicalNetworks",
	"ml2_type_geneve.vni_ranges":           "ml2.vniRange",
	"ml2_type_vlan.network_vlan_ranges":    "ml2.physicalNetworks",
	"ml2_type_vxlan.vni_ranges":            "ml2.vniRange",
	"ovn.dns_servers":                      "dnsServers",
	"DEFAULT.router_distributed":           "distributedFloatingIPs",
	"sriov_driver.vnic_type_prohibit_list": "ml2.sriov",
	"ovn.enable_distributed_floating_ip":   "distributedFloatingIPs",
	"quotas.quota_floatingip":              "quotas.floatingIPs",
	"quotas.quota_network":                 "quotas.networks",
	"quotas.quota_port":                    "quotas.ports",
	"quotas.quota_router":                  "quotas.routers",
	"quotas.quota_security_group":          "quotas.securityGroups",
	"quotas.quota_security_group_rule":     "quotas.securityGroupRules",
	"quotas.quota_subnet":                  "quotas.subnets",
}, "barbican": {
	"queue.asynchronous_workers": "worker", "secretstore.anything": "vault", "simple_crypto_plugin.anything": "keys",
	"vault_plugin.anything": "vault",
}, "heat": {
	"DEFAULT.heat_metadata_server_url": "cfn.hostname", "DEFAULT.heat_waitcondition_server_url": "cfn.hostname",
	"DEFAULT.num_engine_workers": "engine.memory",
}, "cinder": {
	"DEFAULT.backend_availability_zone":       "backends",
	"DEFAULT.backup_ceph_conf":                "backup.rbd",
	"DEFAULT.backup_ceph_pool":                "backup.rbd",
	"DEFAULT.backup_ceph_user":                "backup.rbd",
	"DEFAULT.backup_container":                "backup",
	"DEFAULT.backup_driver":                   "backup",
	"DEFAULT.backup_mount_point_base":         "backup.nfs",
	"DEFAULT.backup_posix_path":               "backup",
	"DEFAULT.backup_s3_ca_cert_file":          "backup.s3",
	"DEFAULT.backup_s3_endpoint_url":          "backup.s3",
	"DEFAULT.backup_s3_store_access_key":      "backup.s3",
	"DEFAULT.backup_s3_store_bucket":          "backup.s3",
	"DEFAULT.backup_s3_store_secret_key":      "backup.s3",
	"DEFAULT.backup_s3_verify_ssl":            "backup.s3",
	"DEFAULT.backup_share":                    "backup.nfs",
	"DEFAULT.backup_swift_auth_insecure":      "backup.swift",
	"DEFAULT.backup_swift_ca_cert_file":       "backup.swift",
	"DEFAULT.backup_swift_container":          "backup.swift",
	"DEFAULT.backup_swift_url":                "backup.swift",
	"DEFAULT.backup_workers":                  "backup",
	"DEFAULT.default_volume_type":             "defaultVolumeType",
	"DEFAULT.enabled_backends":                "backends",
	"DEFAULT.image_upload_use_cinder_backend": "backends",
	"DEFAULT.osapi_volume_workers":            "uwsgi.processes",
	"DEFAULT.volume_backend_name":             "backends",
	"nfs1.backend_availability_zone":          "backends",
	"nfs1.nas_host":                           "backends",
	"nfs1.nas_mount_options":                  "backends",
	"nfs1.nas_share_path":                     "backends",
	"nfs1.nfs_mount_options":                  "backends",
	"nfs1.nfs_shares_config":                  "backends",
	"nfs1.volume_backend_name":                "backends",
	"nfs1.volume_driver":                      "backends",
	"rbd1.backend_availability_zone":          "backends",
	"rbd1.rbd_ceph_conf":                      "backends",
	"rbd1.rbd_pool":                           "backends",
	"rbd1.rbd_user":                           "backends",
	"rbd1.volume_backend_name":                "backends",
	"rbd1.volume_driver":                      "backends",
}, "nova": {
	"DEFAULT.metadata_workers": "uwsgi.processes", "DEFAULT.osapi_compute_workers": "uwsgi.processes", "api.local_metadata_per_cell": "metadata.perCell",
	"conductor.workers": "conductor", "quota.cores": "quotas.cores",
	"quota.instances": "quotas.instances", "quota.ram": "quotas.memoryMiB", "scheduler.workers": "scheduler",
	"serial_console.enabled": "consoles.serial",
	"spice.enabled":          "consoles.graphical", "vnc.enabled": "consoles.graphical",
}}

var fieldsOfDirectories = map[string]string{
	"group_tree_dn": "groupTreeDN", "password": "passwordSecretRef", "suffix": "suffix", "tls_cacertdir": "caSecretRef", "tls_cacertfile": "caSecretRef",
	"url": "url", "user": "user", "user_tree_dn": "userTreeDN",
}

// TestConflict checks that every reserved option is rejected, even if unknown options are allowed, with a reason and the field that sets it, if
// there is one.
func TestConflict(t *testing.T) {
	check := func(name, field string, err error) {
		t.Helper()
		switch {
		case err == nil:
			t.Errorf("%s is the tenant's", name)
		case field == "" && !strings.HasSuffix(err.Error(), "; remove it") && !strings.Contains(err.Error(), "; choose from "):
			t.Errorf("%s: %s", name, err)
		case field != "":
			if _, got, _ := strings.Cut(err.Error(), "; set "); got != base+"."+field+" instead" {
				t.Errorf("%s: set %s, want %s.%s", name, got, base, field)
			}
		}
	}
	raw := common.Options{}
	for service, names := range tablesOf {
		groups := storesOf(t, service)
		for _, name := range names {
			for _, group := range slices.Sorted(maps.Keys(reservedOptions[name])) {
				for option := range strings.FieldsSeq(reservedOptions[name][group]) {
					if option == every {
						option = "anything"
					}
					group := group
					if driver, ok := strings.CutPrefix(group, "<"); ok {
						group = strings.TrimSuffix(driver, ">") + "1"
					}
					if err := json.Unmarshal([]byte(`{"`+option+`": "x"}`), &raw); err != nil {
						t.Fatal(err)
					}
					_, err := Options(service, release, common.Overrides{AllowUnknown: true, Config: common.Config{group: raw}}, base, groups...)
					check(service+" "+group+"."+option, fields[name][group+"."+option], err)
					clear(raw)
				}
			}
		}
	}
	for option := range strings.FieldsSeq(reservedDirectoryOptions) {
		if err := json.Unmarshal([]byte(`{"`+option+`": "x"}`), &raw); err != nil {
			t.Fatal(err)
		}
		_, err := Directory(release, raw, true, base)
		check("a directory's "+option, fieldsOfDirectories[option], err)
		clear(raw)
	}
	if err := json.Unmarshal([]byte(`{"tls_req_cert": "never"}`), &raw); err != nil {
		t.Fatal(err)
	}
	if _, err := Directory(release, raw, false, base); err != nil {
		t.Errorf("a tenant must be able to set tls_req_cert: %s", err)
	}
}

// storesOf returns a store for each driver of a service.
func storesOf(t *testing.T, service string) []registry.Group {
	t.Helper()
	known, err := registry.For(service, release)
	if err != nil {
		t.Fatal(err)
	}
	var out []registry.Group
	for _, driver := range known.Templates() {
		out = append(out, registry.Group{Name: driver + "1", Template: driver})
	}
	return out
}

// TestReservedOptionsReviewed checks that the tables contain exactly the reserved options of this file, so that a new one requires a review.
func TestReservedOptionsReviewed(t *testing.T) {
	for name, table := range listed {
		got, want := map[string]map[string]bool{}, map[string]map[string]bool{}
		for group, options := range table {
			if group == every {
				group = "saml2"
			}
			if got[group] == nil {
				got[group] = map[string]bool{}
			}
			for option, o := range options {
				if !o.tenant {
					got[group][option] = true
				}
			}
			if len(got[group]) == 0 {
				delete(got, group)
			}
		}
		for group, options := range reservedOptions[name] {
			want[group] = map[string]bool{}
			for option := range strings.FieldsSeq(options) {
				want[group][option] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-here +tables):\n%s", name, diff)
		}
	}
	if len(reservedOptions) != len(listed) {
		t.Errorf("%d tables, and %d here", len(listed), len(reservedOptions))
	}
}

// TestListed checks that all tables of the services are in listed.
func TestListed(t *testing.T) {
	for service, tables := range services {
		if separate[service] != "" {
			continue
		}
		var want []table
		for _, name := range tablesOf[service] {
			want = append(want, listed[name])
		}
		if diff := cmp.Diff(want, tables, cmp.AllowUnexported(owner{})); diff != "" {
			t.Errorf("%s (-here +there):\n%s", service, diff)
		}
	}
}

// TestSize checks that all options together fit into a ConfigMap, to the byte.
func TestSize(t *testing.T) {
	of := func(n int) error {
		raw := common.Options{}
		// The size includes group, option and the quotes of the value.
		text := `{"o": "` + strings.Repeat("x", n-len("group")-len("o")-2) + `"}`
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		_, err := Options(service, release, common.Overrides{AllowUnknown: true, Config: common.Config{"group": raw}}, base)
		return err
	}
	if err := of(256 << 10); err != nil {
		t.Errorf("256 KiB: %.200s", err)
	}
	if err := of(256<<10 + 1); err == nil || !strings.Contains(err.Error(), "exceed 256 KiB") {
		t.Errorf("a byte more: %.200v", err)
	}
}
