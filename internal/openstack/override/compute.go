package override

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// computes names the table of nova-compute, whose options are a pool's and checked apart from those of Nova in the control plane.
const computes = "nova-compute"

// Compute is Options for nova-compute's, of a pool whose spec has them at agents.novaCompute.config. Only options that are listed are
// taken: it has rights of its node.
func Compute(release string, in common.Config) (oslo.Config, error) {
	s := scope{service: "nova", release: release, tables: services[computes], base: "spec", listed: true}
	return s.options(common.Overrides{Config: in}, func(group string) string {
		return invalid.Path("spec.agents.novaCompute.config", name(group))
	})
}

// Why options of nova-compute are whose.
const (
	reasonNodeAccess = "nova-compute has rights of its node, and this option is none of those of which it is known that they reach nothing else"
	when             = "it says when and how often, and reaches nothing"
	howMuch          = "it says how much, and of what nobody else has"
	seen             = "it says what virtual machines see, which QEMU keeps inside of them"
	logged           = "it says what is logged"
	sliced           = "a slice may have another one"
	moves            = "how virtual machines move has fields"
	moving           = "virtualization.liveMigration."
)

// novaCompute is nova.conf of nova-compute. What is not listed is nobody's: of each option here it is known that it names no file, program,
// device, address or server.
var novaCompute = table{
	"DEFAULT": {
		"cpu_allocation_ratio":                   use("cpu.allocationRatio", sliced),
		"ram_allocation_ratio":                   use("memory.allocationRatio", sliced),
		"reserved_host_memory_mb":                use("memory.reserved", sliced),
		"max_concurrent_live_migrations":         use(moving+"parallelOutboundMigrationsPerNode", moves),
		"reserved_huge_pages":                    use("hugePages", "pages that virtual machines do not get are reserved"),
		"block_device_allocate_retries":          tenantOption(when),
		"block_device_allocate_retries_interval": tenantOption(when),
		"debug":                                  tenantOption(logged),
		"default_log_levels":                     tenantOption(logged),
		"disk_allocation_ratio":                  tenantOption(howMuch),
		"force_config_drive":                     tenantOption(seen),
		"heal_instance_info_cache_interval":      tenantOption(when),
		"instance_build_timeout":                 tenantOption(when),
		"instance_delete_interval":               tenantOption(when),
		"default_access_ip_network_name":         tenantOption("it selects an address that the API shows"),
		"max_concurrent_builds":                  tenantOption(howMuch),
		"max_concurrent_snapshots":               tenantOption(howMuch),
		"maximum_instance_delete_attempts":       tenantOption(when),
		"network_allocate_retries":               tenantOption(when),
		"preallocate_images":                     tenantOption(howMuch),
		"reboot_timeout":                         tenantOption(when),
		"reclaim_instance_interval":              tenantOption(when),
		"reserved_host_cpus":                     tenantOption(howMuch),
		"reserved_host_disk_mb":                  tenantOption(howMuch),
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
		"sync_power_state_pool_size":             tenantOption(howMuch),
		"update_resources_interval":              tenantOption(when),
		"use_cow_images":                         tenantOption(howMuch),
		"vif_plugging_is_fatal":                  tenantOption(when),
		"vif_plugging_timeout":                   tenantOption(when),
		"volume_usage_poll_interval":             tenantOption(when),
	},
	"consoleauth": {"token_ttl": tenantOption("it limits how long a console's address is valid")},
	"cinder": {
		"cross_az_attach": tenantOption("it says which volumes may be attached"), "http_retries": tenantOption(when), "timeout": tenantOption(when),
	},
	"compute": {
		"cpu_dedicated_set": use("cpu.dedicatedSet", sliced),
		"cpu_shared_set":    use("cpu.sharedSet", sliced),
		"consecutive_build_service_disable_threshold": tenantOption(when),
		"image_type_exclude_list":                     tenantOption("it takes fewer images than it could"),
		"live_migration_wait_for_vif_plug":            tenantOption(when),
		"max_concurrent_disk_ops":                     tenantOption(howMuch),
		"max_disk_devices_to_attach":                  tenantOption(howMuch),
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
		"virt_type":                           use("virtualization.driver", "the node's devices follow from it"),
		"cpu_model_extra_flags":               tenantOption(seen),
		"device_detach_attempts":              tenantOption(when),
		"device_detach_timeout":               tenantOption(when),
		"disk_cachemodes":                     tenantOption("it says what may be lost with a node's power"),
		"hw_disk_discard":                     tenantOption(seen),
		"hw_machine_type":                     tenantOption(seen),
		"max_queues":                          tenantOption(seen),
		"mem_stats_period_seconds":            tenantOption(when),
		"num_pcie_ports":                      tenantOption(seen),
		"rx_queue_size":                       tenantOption(seen),
		"snapshot_compression":                tenantOption(howMuch),
		"snapshot_image_format":               tenantOption(howMuch),
		"sysinfo_serial":                      tenantOption(seen),
		"tx_queue_size":                       tenantOption(seen),
		"use_virtio_for_bridges":              tenantOption(seen),
		"wait_soft_reboot_seconds":            tenantOption(when),
		"live_migration_downtime_delay":       tenantOption(when),
		"live_migration_downtime_steps":       tenantOption(when),
	},
	"neutron":   {"extension_sync_interval": tenantOption(when), "http_retries": tenantOption(when), "timeout": tenantOption(when)},
	"glance":    {"num_retries": tenantOption(when), "timeout": tenantOption(when)},
	"placement": {"timeout": tenantOption(when)},
	"workarounds": {
		"enable_qemu_monitor_announce_self":     tenantOption(when),
		"handle_virt_lifecycle_events":          tenantOption("it says what Nova does when a server ends by itself"),
		"qemu_monitor_announce_self_count":      tenantOption(when),
		"qemu_monitor_announce_self_interval":   tenantOption(when),
		"skip_cpu_compare_at_startup":           tenantOption("it asks less of the node"),
		"skip_cpu_compare_on_dest":              tenantOption("it asks less of the node"),
		"skip_hypervisor_version_check_on_lm":   tenantOption("it asks less of the node"),
		"disable_libvirt_livesnapshot":          tenantOption(when),
		"reserve_disk_resource_for_image_cache": tenantOption(howMuch),
	},
	every: {every: ours(reasonNodeAccess)},
}
