package override

const (
	agents   = "agents on hypervisors read this, which are configured with them"
	noAgents = "OVN does this work, and there are no agents that would"
	networks = "which networks there are has fields, by which hypervisors and what is computed here go, too"
	kept     = "where OVN's databases are, and how they are reached, follows from the rest of the control plane"
	bounds   = "what a project may have is bounded by fields"
)

// neutron is neutron.conf and what is elsewhere in ml2_conf.ini, which is a part of it here
// (https://docs.openstack.org/neutron/latest/configuration/config.html).
var neutron = table{
	"DEFAULT": {
		"api_extensions_path":                ours(files),
		"api_paste_config":                   ours(files),
		"api_workers":                        use("uwsgi.processes", "it is how many share among each other what OVN says"),
		"auth_strategy":                      ours("without it, nobody would be asked for a token"),
		"backdoor_port":                      ours(backdoor),
		"backdoor_socket":                    ours(backdoor),
		"backlog":                            ours(uwsgi),
		"bind_host":                          ours(uwsgi),
		"bind_port":                          ours(uwsgi),
		"client_socket_timeout":              ours(uwsgi),
		"core_plugin":                        ours("it is ML2, which all fields are about"),
		"default_availability_zones":         use("availabilityZones", networks),
		"dns_domain":                         use("dnsDomain", networks),
		"external_dns_driver":                ours("there is no Designate here to be told of names"),
		"external_pids":                      ours(files),
		"global_physnet_mtu":                 use("ml2.mtu", networks),
		"graceful_shutdown_timeout":          ours(graceful),
		"host":                               ours("a process is known by the name of its pod, which no other has"),
		"interface_driver":                   ours(agents),
		"ipam_driver":                        ours("this names code to be loaded"),
		"max_header_line":                    ours(uwsgi),
		"metadata_proxy_socket":              ours(agents),
		"my_ip":                              ours("each pod has an address of its own"),
		"my_ipv6":                            ours("each pod has an address of its own"),
		"network_link_prefix":                ours(answers),
		"network_scheduler_driver":           ours(noAgents),
		"notify_nova_on_port_data_changes":   ours(told),
		"notify_nova_on_port_status_changes": ours(told),
		"router_scheduler_driver":            ours(noAgents),
		"rpc_state_report_workers":           ours(noAgents),
		"rpc_workers":                        ours(noAgents),
		"service_plugins":                    use("servicePlugins", "each of them is known to work with OVN"),
		"state_path":                         ours(files),
		"tcp_keepidle":                       ours(uwsgi),
		"use_ssl":                            ours(uwsgi),
		"wsgi_default_pool_size":             ours(uwsgi),
		"wsgi_keep_alive":                    ours(uwsgi),
		"wsgi_log_format":                    ours(uwsgi),
		"wsgi_server_debug":                  ours(uwsgi),
	},
	"agent":         {every: ours(agents)},
	"designate":     {every: ours(absent)},
	"dhcp":          {every: ours(agents)},
	"dns_forwarder": {every: ours(agents)},
	"fdb":           {every: ours(agents)},
	"ironic":        {every: ours(absent)},
	"macvtap":       {every: ours(agents)},
	"metadata":      {every: ours(agents)},
	"ml2": {
		"extension_drivers":         use("ml2.extensionDrivers", networks),
		"external_network_type":     tenants("it is a kind of networks, and reaches nothing"),
		"mechanism_drivers":         use("mechanism", networks),
		"path_mtu":                  use("ml2.mtu", networks),
		"physical_network_mtus":     use("ml2.physicalNetworks", networks),
		"project_network_types":     use("ml2.tenantNetworkTypes", networks),
		"tenant_network_types":      use("ml2.tenantNetworkTypes", networks),
		"tunnelled_network_rp_name": tenants("it is a name in Placement"),
		"type_drivers":              use("ml2.typeDrivers", networks),
	},
	"ml2_type_flat":   {"flat_networks": use("ml2.physicalNetworks", networks)},
	"ml2_type_geneve": {"vni_ranges": use("ml2.vniRange", networks), "max_header_size": ours("OVN writes so much into each header")},
	"ml2_type_vlan":   {"network_vlan_ranges": use("ml2.physicalNetworks", networks)},
	"ml2_type_vxlan":  {"vni_ranges": use("ml2.vniRange", networks)},
	"network_log":     {"local_output_log_base": ours(agents)},
	"nova":            peer(),
	"oslo_reports": {
		"file_event_handler": ours(files),
		"log_dir":            ours(logs),
	},
	"ovn": {
		"dns_servers":                    use("dnsServers", networks),
		"enable_distributed_floating_ip": use("distributedFloatingIPs", networks),
		"neutron_sync_mode":              oneOf("a worker that starts would change OVN, whatever the other one does", "off", "log"),
		"ovn_metadata_enabled":           ours("agents on hypervisors let virtual machines reach the metadata API by it"),
		"ovn_nb_ca_cert":                 ours(kept),
		"ovn_nb_certificate":             ours(kept),
		"ovn_nb_connection":              ours(kept),
		"ovn_nb_private_key":             ours(kept),
		"ovn_sb_ca_cert":                 ours(kept),
		"ovn_sb_certificate":             ours(kept),
		"ovn_sb_connection":              ours(kept),
		"ovn_sb_private_key":             ours(kept),
		"ovsdb_connection_timeout":       tenants("how long to wait for OVN is the tenant's decision"),
		"vhost_sock_dir":                 tenants("it is a folder of hypervisors"),
	},
	"ovs": {
		// These four OVN does, too.
		"igmp_flood":              tenants(multicast),
		"igmp_flood_reports":      tenants(multicast),
		"igmp_flood_unregistered": tenants(multicast),
		"igmp_snooping_enable":    tenants(multicast),
		every:                     ours(agents),
	},
	"placement":            peer(),
	"privsep":              {every: ours(agents)},
	"privsep_conntrack":    {every: ours(agents)},
	"privsep_dhcp_release": {every: ours(agents)},
	"privsep_link":         {every: ours(agents)},
	"privsep_namespace":    {every: ours(agents)},
	"privsep_ovs_vsctl":    {every: ours(agents)},
	"quotas": {
		"quota_driver":              ours("Neutron keeps the limits itself"),
		"quota_floatingip":          use("quotas.floatingIPs", bounds),
		"quota_network":             use("quotas.networks", bounds),
		"quota_port":                use("quotas.ports", bounds),
		"quota_router":              use("quotas.routers", bounds),
		"quota_security_group":      use("quotas.securityGroups", bounds),
		"quota_security_group_rule": use("quotas.securityGroupRules", bounds),
		"quota_subnet":              use("quotas.subnets", bounds),
	},
	"securitygroup":     {"firewall_driver": ours(noAgents)},
	"service_providers": {every: ours("this names code to be loaded")},
	"sriov_nic":         {every: ours(agents)},
	"ssl":               {every: ours(uwsgi)},
}

const (
	multicast = "how multicast is spread is the tenant's decision"
	told      = "Nova is told where there is one"
)
