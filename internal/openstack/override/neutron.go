package override

const (
	agents        = "only agents on hypervisors read it, which are configured there"
	noAgents      = "the agents are derived from the mechanism: with OVN there are none"
	onHypervisors = "hypervisors are configured from the same field"
	networks      = "the settings of networks must match each other"
	ovnConnection = "the connection to the OVN databases is set by the control plane"
	bounds        = "the quotas of projects have fields"
)

// Owners of options in neutron.conf, which includes the options of ml2_conf.ini here
// (https://docs.openstack.org/neutron/latest/configuration/config.html).
var _ = add("neutron", table{
	"DEFAULT": {
		"api_extensions_path":                reserved(files),
		"api_paste_config":                   reserved(files),
		"api_workers":                        use("uwsgi.processes", "the number of processes that share the events of OVN is derived from it"),
		"auth_strategy":                      reserved("tokens are always required"),
		"backdoor_port":                      reserved(backdoor),
		"backdoor_socket":                    reserved(backdoor),
		"backlog":                            reserved(uwsgi),
		"bind_host":                          reserved(uwsgi),
		"bind_port":                          reserved(uwsgi),
		"client_socket_timeout":              reserved(uwsgi),
		"core_plugin":                        reserved("all fields depend on ML2"),
		"default_availability_zones":         use("availabilityZones", networks),
		"dns_domain":                         use("dnsDomain", onHypervisors),
		"dhcp_agents_per_network":            tenantOption("the tenant decides the number of DHCP agents"),
		"external_dns_driver":                reserved("the control plane has no Designate"),
		"external_pids":                      reserved(files),
		"global_physnet_mtu":                 use("ml2.mtu", networks),
		"graceful_shutdown_timeout":          reserved(graceful),
		"host":                               reserved("the host name of a process must be its unique pod name"),
		"interface_driver":                   reserved(agents),
		"ipam_driver":                        reserved("it would load code"),
		"l3_ha":                              tenantOption("the tenant decides the number of nodes of a router"),
		"max_header_line":                    reserved(uwsgi),
		"metadata_proxy_socket":              reserved(agents),
		"my_ip":                              reserved("each pod has its own address"),
		"my_ipv6":                            reserved("each pod has its own address"),
		"network_link_prefix":                reserved(answers),
		"network_scheduler_driver":           reserved(noAgents),
		"notify_nova_on_port_data_changes":   reserved(reasonPeerAddress),
		"notify_nova_on_port_status_changes": reserved(reasonPeerAddress),
		"router_distributed":                 use("distributedFloatingIPs", onHypervisors),
		"router_scheduler_driver":            reserved(noAgents),
		"rpc_state_report_workers":           reserved(noAgents),
		"rpc_workers":                        reserved(noAgents),
		"service_plugins":                    use("servicePlugins", "each plugin must support OVN"),
		"state_path":                         reserved(files),
		"tcp_keepidle":                       reserved(uwsgi),
		"use_ssl":                            reserved(uwsgi),
		"wsgi_default_pool_size":             reserved(uwsgi),
		"wsgi_keep_alive":                    reserved(uwsgi),
		"wsgi_log_format":                    reserved(uwsgi),
		"wsgi_server_debug":                  reserved(uwsgi),
	},
	"agent":         {every: reserved(agents)},
	"designate":     {every: reserved(absent)},
	"dhcp":          {every: reserved(agents)},
	"dns_forwarder": {every: reserved(agents)},
	"fdb":           {every: reserved(agents)},
	"ironic":        {every: reserved(absent)},
	"macvtap":       {every: reserved(agents)},
	"metadata":      {every: reserved(agents)},
	"ml2": {
		"extension_drivers":         use("ml2.extensionDrivers", networks),
		"external_network_type":     tenantOption("it is a network type"),
		"mechanism_drivers":         use("mechanism", onHypervisors),
		"path_mtu":                  use("ml2.mtu", networks),
		"physical_network_mtus":     use("ml2.physicalNetworks", networks),
		"project_network_types":     use("ml2.tenantNetworkTypes", networks),
		"tenant_network_types":      use("ml2.tenantNetworkTypes", networks),
		"tunnelled_network_rp_name": tenantOption("it is a name in Placement"),
		"type_drivers":              use("ml2.typeDrivers", onHypervisors),
	},
	"ml2_type_flat":   {"flat_networks": use("ml2.physicalNetworks", onHypervisors)},
	"ml2_type_geneve": {"vni_ranges": use("ml2.vniRange", networks), "max_header_size": reserved("it is the size of OVN's header")},
	"ml2_type_vlan":   {"network_vlan_ranges": use("ml2.physicalNetworks", onHypervisors)},
	"ml2_type_vxlan":  {"vni_ranges": use("ml2.vniRange", networks)},
	"network_log":     {"local_output_log_base": reserved(agents)},
	"nova":            peer(),
	"oslo_reports": {
		"file_event_handler": reserved(files),
		"log_dir":            reserved(logs),
	},
	"ovn": {
		"dns_servers":                    use("dnsServers", networks),
		"enable_distributed_floating_ip": use("distributedFloatingIPs", networks),
		"neutron_sync_mode":              tenantValues("each worker that starts would change OVN", "off", "log"),
		"ovn_metadata_enabled":           reserved("agents on hypervisors need it to provide the metadata API to servers"),
		"ovn_nb_ca_cert":                 reserved(ovnConnection),
		"ovn_nb_certificate":             reserved(ovnConnection),
		"ovn_nb_connection":              reserved(ovnConnection),
		"ovn_nb_private_key":             reserved(ovnConnection),
		"ovn_sb_ca_cert":                 reserved(ovnConnection),
		"ovn_sb_certificate":             reserved(ovnConnection),
		"ovn_sb_connection":              reserved(ovnConnection),
		"ovn_sb_private_key":             reserved(ovnConnection),
		"ovsdb_connection_timeout":       tenantOption("the tenant decides the timeout for OVN"),
		"vhost_sock_dir":                 tenantOption("it is a folder on hypervisors"),
	},
	"ovs": {
		// OVN supports these four options, too.
		"igmp_flood":              tenantOption(multicast),
		"igmp_flood_reports":      tenantOption(multicast),
		"igmp_flood_unregistered": tenantOption(multicast),
		"igmp_snooping_enable":    tenantOption(multicast),
		every:                     reserved(agents),
	},
	"placement":            peer(),
	"privsep":              {every: reserved(agents)},
	"privsep_conntrack":    {every: reserved(agents)},
	"privsep_dhcp_release": {every: reserved(agents)},
	"privsep_link":         {every: reserved(agents)},
	"privsep_namespace":    {every: reserved(agents)},
	"privsep_ovs_vsctl":    {every: reserved(agents)},
	"quotas": {
		"quota_driver":              reserved("limits are stored in Neutron"),
		"quota_floatingip":          use("quotas.floatingIPs", bounds),
		"quota_network":             use("quotas.networks", bounds),
		"quota_port":                use("quotas.ports", bounds),
		"quota_router":              use("quotas.routers", bounds),
		"quota_security_group":      use("quotas.securityGroups", bounds),
		"quota_security_group_rule": use("quotas.securityGroupRules", bounds),
		"quota_subnet":              use("quotas.subnets", bounds),
	},
	"securitygroup":     {"firewall_driver": reserved(noAgents)},
	"service_providers": {every: reserved("it would load code")},
	"sriov_driver":      {"vnic_type_prohibit_list": use("ml2.sriov", onHypervisors)},
	"sriov_nic":         {every: reserved(agents)},
	"ssl":               {every: reserved(uwsgi)},
}, queue, client, everyService)

const (
	multicast         = "the tenant decides how multicast is distributed"
	reasonPeerAddress = "Nova is notified if the control plane has one"
)
