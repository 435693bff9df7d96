package override

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// suspicious matches names of options with which a service reads a file, runs a program, loads code or connects to a host.
var suspicious = regexp.MustCompile(`(^|_)(auth_type|backends?|binary|ca|cacert\w*|cafile|certfile|conf|config|connection|dirs?|drivers?|endpoint|` +
	`externals?|files?|generator|hosts?|keyfile|methods|origin|paths?|plugin|provider|proxies|repository|sentinels|servers?|source|sync_wait|template|` +
	`uri|urls?|wsgi)($|_)`)

// harmless are options with such names that do nothing of the kind.
var harmless = []string{
	"cache config_prefix", "cors allowed_origin", "database connection_recycle_time",
	"database connection_trace", "DEFAULT max_logfile_count", "DEFAULT max_logfile_size_mb", "auth methods", "auth additional_primary_auth_methods",
	"oauth2 oauth2_authn_methods", "cors allow_methods", "cache backend_expiration_time", "cache memcache_pool_connection_get_timeout",
	"resource domain_name_url_safe", "resource project_name_url_safe", "ldap auth_pool_connection_lifetime", "ldap connection_timeout",
	"ldap pool_connection_lifetime", "ldap pool_connection_timeout", "ldap randomize_urls", "ldap user_enabled_emulation_use_group_config",
	"placement_database connection_recycle_time", "placement_database connection_trace",
	"workarounds optimize_for_wide_provider_trees", "oslo_reports file_event_handler_interval", "<file> filesystem_store_file_perm",
	"DEFAULT allow_resize_to_same_host", "DEFAULT force_config_drive", "DEFAULT osapi_compute_unique_server_name_scope", "DEFAULT reserved_host_cpus",
	"DEFAULT reserved_host_disk_mb", "DEFAULT reserved_host_memory_mb", "DEFAULT resume_guests_state_on_host_boot", "DEFAULT run_external_periodic_tasks",
	"api config_drive_skip_versions", "api_database connection_recycle_time", "api_database connection_trace",
	"compute packing_host_numa_cells_allocation_strategy", "compute resource_provider_association_refresh", "filter_scheduler host_subset_size",
	"filter_scheduler max_instances_per_host", "filter_scheduler max_io_ops_per_host", "filter_scheduler restrict_isolated_hosts_to_isolated_images",
	"filter_scheduler shuffle_best_same_weighed_hosts", "quota injected_file_content_bytes", "quota injected_file_path_length", "quota injected_files",
	"quota server_group_members", "quota server_groups", "workarounds ensure_libvirt_rbd_instance_dir_cleanup",
	"DEFAULT host_dvr_for_dhcp", "DEFAULT max_subnet_host_routes",
	"DEFAULT default_software_config_transport", "DEFAULT max_server_name_length", "DEFAULT max_template_size", "DEFAULT template_fetch_timeout",
}

// tabled returns the options of a release, with the names used in the tables.
func tabled(r *registry.Registry) map[registry.Name]*registry.Option {
	out := map[registry.Name]*registry.Option{}
	for _, group := range r.Groups() {
		for _, o := range r.Options(group) {
			out[registry.Name{Group: group, Option: o.Name}] = o
		}
	}
	for _, driver := range r.Templates() {
		for _, o := range r.TemplateOptions(driver) {
			out[registry.Name{Group: template(driver), Option: o.Name}] = o
		}
	}
	return out
}

// decided reports whether any table contains a name.
func decided(tables []table, name registry.Name) bool {
	return slices.ContainsFunc(tables, func(t table) bool { _, ok := t.of(name); return ok })
}

// TestTablesContainSuspiciousOptions checks that the tables contain every option of every release with a suspicious name.
func TestTablesContainSuspiciousOptions(t *testing.T) {
	for service, tables := range services {
		for _, r := range registry.All(service) {
			for name, o := range tabled(r) {
				if o.Secret || decided(tables, name) || slices.Contains(harmless, name.Group+" "+name.Option) {
					continue
				}
				if suspicious.MatchString(o.Name) || o.Kind == "uri" {
					t.Errorf("%s %s: no table contains %s", service, r.Release, name)
				}
			}
		}
	}
	for _, r := range registry.All(service) {
		for _, o := range r.Options("ldap") {
			name := registry.Name{Group: "ldap", Option: o.Name}
			if !decided(services[directories], name) && !slices.Contains(harmless, "ldap "+o.Name) && suspicious.MatchString(o.Name) {
				t.Errorf("%s: no table contains option %s of a directory", r.Release, o.Name)
			}
		}
	}
}

// separate maps the keys of tables that are not in the service's own key to their service.
var separate = map[string]string{directories: "keystone", computes: "nova"}

// TestTables checks that all names in the tables exist in some release of their service; a misspelled name would allow the
// option.
func TestTables(t *testing.T) {
	// Options that are in no list, because they are read before the list exists, or belong to a group whose name an
	// administrator chooses.
	unlisted := []string{"DEFAULT config_file", "DEFAULT config_dir", "eventlet_server *", "* remote_id_attribute", "auth openid", "auth totp", "backend_defaults *", "* *"}
	known := map[string]bool{}
	for service := range services {
		for _, r := range registry.All(service) {
			for name, o := range tabled(r) {
				known[service+" "+name.Group+" "+name.Option], known[service+" "+name.Group+" "+every] = true, true
				for _, old := range o.Deprecated {
					known[service+" "+old.Group+" "+old.Option] = true
				}
			}
		}
	}
	for service, tables := range services {
		for i, table := range tables {
			shared := len(tables) > 1 && i > 0
			for group, options := range table {
				for option, o := range options {
					name := group + " " + option
					found := known[service+" "+name] || known[separate[service]+" "+name]
					for other := range services {
						found = found || shared && known[other+" "+name]
					}
					if !found && !slices.Contains(unlisted, name) {
						t.Errorf("%s: no release has [%s] %s", service, group, option)
					}
					if o.why == "" || strings.ContainsAny(o.why, ";.") {
						t.Errorf("[%s] %s: reason %q", group, option, o.why)
					}
				}
			}
		}
	}
}

// TestOwnedOptionsNameTheirField checks that an option that the tenant does not own is rejected with the field that sets it, in any
// notation of its name.
func TestOwnedOptionsNameTheirField(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, release, want string }{
		"Field": {
			reason: "The field is named from the top of the spec.", in: "{config: {token: {expiration: 604800}}}",
			want: "spec.services.keystone.config.token.expiration: keys are kept for the lifetime of tokens; set spec.services.keystone.fernet.tokenExpirationSeconds instead",
		},
		"None": {
			reason: "There is no such field.", in: "{config: {fernet_tokens: {key_repository: /tmp}}}",
			want: "spec.services.keystone.config.fernet_tokens.key_repository: the token keys are mounted and rotated at a fixed path; remove it",
		},
		"Case": {
			reason: "oslo.config compares groups case-insensitively.", in: "{config: {TOKEN: {provider: jws}}}",
			want: "spec.services.keystone.config.TOKEN.provider: only keys of Fernet tokens are stored and rotated; remove it",
		},
		"Former": {
			reason: "The service still reads a former name.", in: "{config: {DEFAULT: {logdir: /tmp}}}",
			want: "spec.services.keystone.config.DEFAULT.logdir: " + logs + "; remove it",
		},
		"Group": {
			reason: "All options of a group, including unknown ones.", in: "{allowUnknown: true, config: {saml: {xmlsec1_binary: /bin/sh, more: 1}}}",
			want: "spec.services.keystone.config.saml.more: " + noSAML + "; remove it\nspec.services.keystone.config.saml.xmlsec1_binary: " + noSAML + "; remove it",
		},
		"Unlisted": {
			reason: "The option is in no list.", in: "{allowUnknown: true, config: {DEFAULT: {config-dir: /tmp}, mapped: {remote_id_attribute: HTTP_X}}}",
			want: "spec.services.keystone.config.DEFAULT.config-dir: " + files + "; remove it\n" +
				"spec.services.keystone.config.mapped.remote_id_attribute: " + front + "; set spec.services.keystone.federation instead",
		},
		"Spaces": {
			reason: "oslo.config reads a name without the spaces around it.", in: `{allowUnknown: true, config: {token: {" expiration": 1}}}`,
			want: `spec.services.keystone.config.token." expiration": the option's name " expiration" may hold letters, digits and _ . - only, and begins with a letter, a digit or _`,
		},
		"OtherRelease": {
			reason: "An image may be of another release.", release: "2026.2", in: "{allowUnknown: true, config: {oslo_policy: {enforce_scope: false}, healthcheck: {path: /x}}}",
			want: "spec.services.keystone.config.healthcheck.path: " + probed + "; remove it\n" +
				"spec.services.keystone.config.oslo_policy.enforce_scope: " + defaults + "; remove it",
		},
		"SecretOfOtherRelease": {
			reason: "A secret stays one.", release: "2026.2", in: "{allowUnknown: true, config: {cache: {Redis-Password: hunter2}}}",
			want: "spec.services.keystone.config.cache.Redis-Password: it is a secret, which a claim must not contain; remove it",
		},
		"Values": {
			reason: "Some values are the tenant's.", in: "{config: {oslo_messaging_notifications: {driver: [log, messagingv2]}}}",
			want: "spec.services.keystone.config.oslo_messaging_notifications.driver: the service has no message queue, and requests would wait for it; choose from log, noop",
		},
		"Value":  {reason: "This is one.", in: "{config: {oslo_messaging_notifications: {driver: [log]}}}"},
		"Tenant": {reason: "Most options are the tenant's.", in: "{config: {security_compliance: {lockout_failure_attempts: 6}, DEFAULT: {max_token_size: 512}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.release == "" {
				tc.release = release
			}
			_, err := Options(service, tc.release, overrides(t, tc.in), base)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNovaAllowsOnlyTuningOptions checks, for every release, that a tenant may set tuning options, and may not set options from which other
// values are derived.
func TestNovaAllowsOnlyTuningOptions(t *testing.T) {
	const in = "spec.services.nova.config."
	for name, tc := range map[string]struct{ reason, in, want string }{
		"Tuned": {reason: "Weights, filters, ratios, timeouts and quotas that have no field.", in: `{config: {
			DEFAULT: {cpu_allocation_ratio: 4, rpc_response_timeout: 120, default_availability_zone: eu-1}, quota: {key_pairs: 50, server_groups: 20},
			filter_scheduler: {ram_weight_multiplier: 2, enabled_filters: [ComputeFilter], weight_classes: [nova.scheduler.weights.all_weighers],
			isolated_hosts: [a], max_io_ops_per_host: 4}, scheduler: {max_attempts: 5}, neutron: {http_retries: 5, timeout: 30}, cinder: {cross_az_attach: false},
			oslo_messaging_rabbit: {heartbeat_timeout_threshold: 30}, notifications: {notification_format: versioned}}}`},
		"Queue": {
			"A queue that exists is not opened with other arguments.", "{config: {oslo_messaging_rabbit: {rabbit_quorum_queue: false}}}",
			in + "oslo_messaging_rabbit.rabbit_quorum_queue: queue settings must be the same for all processes and hypervisors; remove it",
		},
		"Field": {
			"A quota has a field.", "{config: {quota: {ram: 1024}}}",
			in + "quota.ram: " + limits + "; set spec.services.nova.quotas.memoryMiB instead",
		},
		"Peer": {
			"Endpoints are derived from the claim, in any notation.", "{allowUnknown: true, config: {Placement: {endpoint-override: 'https://other'}}}",
			in + "Placement.endpoint-override: " + reached + "; remove it",
		},
		"Hypervisor": {"Options of nova-compute belong to the HypervisorCluster.", "{config: {libvirt: {virt_type: qemu}}}", in + "libvirt.virt_type: " + hypervisors + "; remove it"},
		"Queue's password": {
			"An address with a password stands in no claim.", "{config: {DEFAULT: {transport_url: 'rabbit://a:b@c'}}}",
			in + "DEFAULT.transport_url: it is a secret, which a claim must not contain; remove it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range registry.All("nova") {
				_, err := Options("nova", r.Release, overrides(t, tc.in), "spec.services.nova")
				got := ""
				if err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", r.Release, tc.reason, diff)
				}
			}
		})
	}
}

// TestFiltersMustExistInNova checks that filters must be part of Nova's package, unless unknown options are allowed for another image.
func TestFiltersMustExistInNova(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, want string }{
		"Unknown": {
			"Nova's scheduler does not start with a filter that it has not.", "{config: {filter_scheduler: {enabled_filters: [ComputeFiltr]}}}",
			"spec.services.nova.config.filter_scheduler.enabled_filters: [filter_scheduler] enabled_filters names ComputeFiltr, which nova 2025.2 does not have: " +
				"did you mean ComputeFilter?",
		},
		"Patched": {
			reason: "A patched image has more.",
			in:     "{allowUnknown: true, config: {filter_scheduler: {available_filters: [ours.filters.all], enabled_filters: [OurFilter]}}}",
		},
		"Type": {
			"Values are validated for every image.", "{allowUnknown: true, config: {filter_scheduler: {enabled_filters: [null]}}}",
			"spec.services.nova.config.filter_scheduler.enabled_filters: [filter_scheduler] enabled_filters must be a list, but in item 1 it has no value: " +
				"set one, or remove the option",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Options("nova", "2025.2", overrides(t, tc.in), "spec.services.nova")
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStores checks that the group of a store has the options of its driver, case-insensitively, and that options with
// fields are rejected in every store.
func TestStores(t *testing.T) {
	const at = "spec.services.glance.config."
	groups := []registry.Group{{Name: "fast", Template: "rbd"}, {Name: "archive", Template: "s3"}, {Name: "shared", Template: "file"}}
	for name, tc := range map[string]struct{ reason, in, want string }{
		"Tenant":   {reason: "The tenant may set options that only affect this store.", in: "{config: {fast: {rbd_store_chunk_size: 16}, ARCHIVE: {s3_store_thread_pools: 20}}}"},
		"Field":    {"Where a store is has a field.", "{config: {fast: {rbd_store_pool: vms}}}", at + "fast.rbd_store_pool: " + reasonStoreField + "; set spec.services.glance.stores instead"},
		"Case":     {"oslo.config compares groups case-insensitively.", "{allowUnknown: true, config: {Fast: {Rbd-Store-Pool: vms}}}", at + "Fast.Rbd-Store-Pool: " + reasonStoreField + "; set spec.services.glance.stores instead"},
		"Secret":   {"A claim must not contain a key; a field references its Secret.", "{config: {archive: {s3_store_secret_key: hunter2}}}", at + "archive.s3_store_secret_key: it is a secret, which a claim must not contain; set spec.services.glance.stores instead"},
		"Driver":   {"Another driver's option has no effect.", "{config: {archive: {rbd_store_chunk_size: 16}}}", at + "archive.rbd_store_chunk_size: glance 2025.2 has no option rbd_store_chunk_size in the group [archive]: see the configuration reference of glance for its options"},
		"Nobody's": {"A store has to be one.", "{config: {slow: {rbd_store_chunk_size: 16}}}", at + "slow.rbd_store_chunk_size: glance 2025.2 has no group [slow]: see the configuration reference of glance for its options"},
		"File":     {"A store reads no other folder of the pod.", "{config: {shared: {filesystem_store_datadirs: ['/etc:1']}}}", at + "shared.filesystem_store_datadirs: the volume of a store is mounted at a fixed path; set spec.services.glance.stores instead"},
		"NewName":  {"An option that only a later release has may be the tenant's, too.", "{allowUnknown: true, config: {archive: {s3_store_enable_data_integrity_protection: false}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Options("glance", release, overrides(t, tc.in), "spec.services.glance", groups...)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := Options("glance", release, overrides(t, "{config: {DEFAULT: {debug: true}}}"), base, registry.Group{Name: "cors", Template: "rbd"}); err == nil {
		t.Error("got no error for a store with the name of another group")
	}
}
