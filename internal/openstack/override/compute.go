package override

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// computes is the key of nova-compute's table. Its options belong to a pool and are checked separately from Nova's options
// in the control plane.
const computes = "nova-compute"

// Compute returns the options of nova-compute, which a pool sets at agents.novaCompute.config. Because nova-compute has
// privileges on its node, only listed options are accepted.
func Compute(release string, in common.Config) (oslo.Config, error) {
	s := scope{service: "nova", release: release, tables: services[computes], base: "spec", listed: true}
	return s.options(common.Overrides{Config: in}, func(group string) string {
		return invalid.Path("spec.agents.novaCompute.config", name(group))
	})
}

// Reasons for the owners of nova-compute's options.
const (
	reasonNodeAccess = "nova-compute has privileges on its node, and this option is not in the list of options without access to it"
	when             = "it sets times and intervals only"
	amounts          = "it sets amounts of resources that are not shared"
	guestVisible     = "it only affects the virtual hardware of servers"
	logged           = "it sets the log level"
	sliced           = "slices can override it"
	moves            = "live migration has fields"
	moving           = "virtualization.liveMigration."
)

// novaCompute contains the owners of options in nova.conf of nova-compute. Options that are not listed are rejected: each
// tenant option here was reviewed and sets no file, program, device, address or server.
var novaCompute = add(computes, table{
	"DEFAULT": {
		"cpu_allocation_ratio":                   use("cpu.allocationRatio", sliced),
		"ram_allocation_ratio":                   use("memory.allocationRatio", sliced),
		"reserved_host_memory_mb":                use("memory.reserved", sliced),
		"max_concurrent_live_migrations":         use(moving+"parallelOutboundMigrationsPerNode", moves),
		"reserved_huge_pages":                    use("hugePages", "pages that are not for servers are reserved"),
		"block_device_allocate_retries":          tenantOption(when),
		"block_device_allocate_retries_interval": tenantOption(when),
		"debug":                                  tenantOption(logged),
		"default_log_levels":                     tenantOption(logged),
		"disk_allocation_ratio":                  tenantOption(amounts),
		"force_config_drive":                     tenantOption(guestVisible),
		"heal_instance_info_cache_interval":      tenantOption(when),
		"instance_build_timeout":                 tenantOption(when),
		"instance_delete_interval":               tenantOption(when),
		"default_access_ip_network_name":         tenantOption("it selects an address shown by the API"),
		"max_concurrent_builds":                  tenantOption(amounts),
		"max_concurrent_snapshots":               tenantOption(amounts),
		"maximum_instance_delete_attempts":       tenantOption(when),
		"network_allocate_retries":               tenantOption(when),
		"preallocate_images":                     tenantOption(amounts),
		"reboot_timeout":                         tenantOption(when),
		"reclaim_instance_interval":              tenantOption(when),
		"reserved_host_cpus":                     tenantOption(amounts),
		"reserved_host_disk_mb":                  tenantOption(amounts),
		"reimage_timeout_per_gb":                 tenantOption(when),
		"rescue_timeout":                         tenantOption(when),
		"resize_confirm_window":                  tenantOption(when),
		"resume_guests_state_on_host_boot":       tenantOption(when),
		"running_deleted_instance_poll_interval": tenantOption(when),
		"running_deleted_instance_timeout":       tenantOption(when),
		"shelved_offload_time":                   tenantOption(when),
		"shelved_poll_interval":                  tenantOption(when),
		"shutdown_timeout":                       tenantOption(when),
		"sync_power_state_interval":              tenantOption(when),
		"sync_power_state_pool_size":             tenantOption(amounts),
		"update_resources_interval":              tenantOption(when),
		"use_cow_images":                         tenantOption(amounts),
		"vif_plugging_is_fatal":                  tenantOption(when),
		"vif_plugging_timeout":                   tenantOption(when),
		"volume_usage_poll_interval":             tenantOption(when),
	},
	"consoleauth": {"token_ttl": tenantOption("it limits the validity of console URLs")},
	"cinder": {
		"cross_az_attach": tenantOption("it restricts which volumes can be attached"), "http_retries": tenantOption(when),
		"timeout": tenantOption(when),
	},
	"compute": {
		"cpu_dedicated_set": use("cpu.dedicatedSet", sliced),
		"cpu_shared_set":    use("cpu.sharedSet", sliced),
		"consecutive_build_service_disable_threshold": tenantOption(when),
		"image_type_exclude_list":                     tenantOption("it restricts the accepted image types"),
		"live_migration_wait_for_vif_plug":            tenantOption(when),
		"max_concurrent_disk_ops":                     tenantOption(amounts),
		"max_disk_devices_to_attach":                  tenantOption(amounts),
		"resource_provider_association_refresh":       tenantOption(when),
		"shutdown_retry_interval":                     tenantOption(when),
	},
	"image_cache": {
		"manager_interval":          tenantOption(when),
		"remove_unused_base_images": tenantOption(when), "remove_unused_original_minimum_age_seconds": tenantOption(when),
		"remove_unused_resized_minimum_age_seconds": tenantOption(when),
	},
	"libvirt": {
		"cpu_mode":                            use("cpu.mode", sliced),
		"cpu_models":                          use("cpu.models", sliced),
		"live_migration_bandwidth":            use(moving+"bandwidthPerMigration", moves),
		"live_migration_completion_timeout":   use(moving+"completionTimeoutPerGiB", moves),
		"live_migration_downtime":             use(moving+"maxDowntimeMilliseconds", moves),
		"live_migration_permit_auto_converge": use(moving+"allowAutoConverge", moves),
		"live_migration_permit_post_copy":     use(moving+"allowPostCopy", moves),
		"live_migration_timeout_action":       use(moving+"timeoutAction", moves),
		"virt_type":                           use("virtualization.driver", "the devices of the node are derived from it"),
		"cpu_model_extra_flags":               tenantOption(guestVisible),
		"device_detach_attempts":              tenantOption(when),
		"device_detach_timeout":               tenantOption(when),
		"disk_cachemodes":                     tenantOption("it determines which data a power failure can destroy"),
		"hw_disk_discard":                     tenantOption(guestVisible),
		"hw_machine_type":                     tenantOption(guestVisible),
		"max_queues":                          tenantOption(guestVisible),
		"mem_stats_period_seconds":            tenantOption(when),
		"num_pcie_ports":                      tenantOption(guestVisible),
		"rx_queue_size":                       tenantOption(guestVisible),
		"snapshot_compression":                tenantOption(amounts),
		"snapshot_image_format":               tenantOption(amounts),
		"sysinfo_serial":                      tenantOption(guestVisible),
		"tx_queue_size":                       tenantOption(guestVisible),
		"use_virtio_for_bridges":              tenantOption(guestVisible),
		"wait_soft_reboot_seconds":            tenantOption(when),
		"live_migration_downtime_delay":       tenantOption(when),
		"live_migration_downtime_steps":       tenantOption(when),
	},
	"neutron":   {"extension_sync_interval": tenantOption(when), "http_retries": tenantOption(when), "timeout": tenantOption(when)},
	"glance":    {"num_retries": tenantOption(when), "timeout": tenantOption(when)},
	"placement": {"timeout": tenantOption(when)},
	"workarounds": {
		"enable_qemu_monitor_announce_self":     tenantOption(when),
		"handle_virt_lifecycle_events":          tenantOption("it determines the reaction of Nova when a server stops"),
		"qemu_monitor_announce_self_count":      tenantOption(when),
		"qemu_monitor_announce_self_interval":   tenantOption(when),
		"skip_cpu_compare_at_startup":           tenantOption("it disables a check of the node"),
		"skip_cpu_compare_on_dest":              tenantOption("it disables a check of the node"),
		"skip_hypervisor_version_check_on_lm":   tenantOption("it disables a check of the node"),
		"disable_libvirt_livesnapshot":          tenantOption(when),
		"reserve_disk_resource_for_image_cache": tenantOption(amounts),
	},
	every: {every: reserved(reasonNodeAccess)},
})
