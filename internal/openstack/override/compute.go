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
	reachesNode = "nova-compute has rights of its node, and this option is none of those of which it is known that they reach nothing else"
	when        = "it says when and how often, and reaches nothing"
	howMuch     = "it says how much, and of what nobody else has"
	seen        = "it says what virtual machines see, which QEMU keeps inside of them"
	logged      = "it says what is logged"
	sliced      = "a slice may have another one"
	moves       = "how virtual machines move has fields"
	moving      = "virtualization.liveMigration."
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
		"block_device_allocate_retries":          tenants(when),
		"block_device_allocate_retries_interval": tenants(when),
		"debug":                                  tenants(logged),
		"default_log_levels":                     tenants(logged),
		"disk_allocation_ratio":                  tenants(howMuch),
		"force_config_drive":                     tenants(seen),
		"heal_instance_info_cache_interval":      tenants(when),
		"instance_build_timeout":                 tenants(when),
		"instance_delete_interval":               tenants(when),
		"default_access_ip_network_name":         tenants("it selects an address that the API shows"),
		"max_concurrent_builds":                  tenants(howMuch),
		"max_concurrent_snapshots":               tenants(howMuch),
		"maximum_instance_delete_attempts":       tenants(when),
		"network_allocate_retries":               tenants(when),
		"preallocate_images":                     tenants(howMuch),
		"reboot_timeout":                         tenants(when),
		"reclaim_instance_interval":              tenants(when),
		"reserved_host_cpus":                     tenants(howMuch),
		"reserved_host_disk_mb":                  tenants(howMuch),
		"reimage_timeout_per_gb":                 tenants(when),
		"rescue_timeout":                         tenants(when),
		"resize_confirm_window":                  tenants(when),
		"resume_guests_state_on_host_boot":       tenants(when),
		"running_deleted_instance_poll_interval": tenants(when),
		"running_deleted_instance_timeout":       tenants(when),
		"shelved_offload_time":                   tenants(when),
		"shelved_poll_interval":                  tenants(when),
		"shutdown_timeout":                       tenants(when),
		"sync_power_state_interval":              tenants(when),
		"sync_power_state_pool_size":             tenants(howMuch),
		"update_resources_interval":              tenants(when),
		"use_cow_images":                         tenants(howMuch),
		"vif_plugging_is_fatal":                  tenants(when),
		"vif_plugging_timeout":                   tenants(when),
		"volume_usage_poll_interval":             tenants(when),
	},
	"consoleauth": {"token_ttl": tenants("it limits how long a console's address is valid")},
	"cinder": {
		"cross_az_attach": tenants("it says which volumes may be attached"), "http_retries": tenants(when), "timeout": tenants(when),
	},
	"compute": {
		"cpu_dedicated_set": use("cpu.dedicatedSet", sliced),
		"cpu_shared_set":    use("cpu.sharedSet", sliced),
		"consecutive_build_service_disable_threshold": tenants(when),
		"image_type_exclude_list":                     tenants("it takes fewer images than it could"),
		"live_migration_wait_for_vif_plug":            tenants(when),
		"max_concurrent_disk_ops":                     tenants(howMuch),
		"max_disk_devices_to_attach":                  tenants(howMuch),
		"resource_provider_association_refresh":       tenants(when),
		"shutdown_retry_interval":                     tenants(when),
	},
	"image_cache": {
		"manager_interval":          tenants(when),
		"remove_unused_base_images": tenants(when), "remove_unused_original_minimum_age_seconds": tenants(when),
		"remove_unused_resized_minimum_age_seconds": tenants(when),
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
		"cpu_model_extra_flags":               tenants(seen),
		"device_detach_attempts":              tenants(when),
		"device_detach_timeout":               tenants(when),
		"disk_cachemodes":                     tenants("it says what may be lost with a node's power"),
		"hw_disk_discard":                     tenants(seen),
		"hw_machine_type":                     tenants(seen),
		"max_queues":                          tenants(seen),
		"mem_stats_period_seconds":            tenants(when),
		"num_pcie_ports":                      tenants(seen),
		"rx_queue_size":                       tenants(seen),
		"snapshot_compression":                tenants(howMuch),
		"snapshot_image_format":               tenants(howMuch),
		"sysinfo_serial":                      tenants(seen),
		"tx_queue_size":                       tenants(seen),
		"use_virtio_for_bridges":              tenants(seen),
		"wait_soft_reboot_seconds":            tenants(when),
		"live_migration_downtime_delay":       tenants(when),
		"live_migration_downtime_steps":       tenants(when),
	},
	"neutron":   {"extension_sync_interval": tenants(when), "http_retries": tenants(when), "timeout": tenants(when)},
	"glance":    {"num_retries": tenants(when), "timeout": tenants(when)},
	"placement": {"timeout": tenants(when)},
	"workarounds": {
		"enable_qemu_monitor_announce_self":     tenants(when),
		"handle_virt_lifecycle_events":          tenants("it says what Nova does when a server ends by itself"),
		"qemu_monitor_announce_self_count":      tenants(when),
		"qemu_monitor_announce_self_interval":   tenants(when),
		"skip_cpu_compare_at_startup":           tenants("it asks less of the node"),
		"skip_cpu_compare_on_dest":              tenants("it asks less of the node"),
		"skip_hypervisor_version_check_on_lm":   tenants("it asks less of the node"),
		"disable_libvirt_livesnapshot":          tenants(when),
		"reserve_disk_resource_for_image_cache": tenants(howMuch),
	},
	every: {every: ours(reachesNode)},
}
