package override

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// TestCompute checks, for every release, that the nova-compute of a pool accepts only listed options, which affect nothing
// but its servers, with any notation of their names.
func TestCompute(t *testing.T) {
	const in = "spec.agents.novaCompute.config."
	for name, tc := range map[string]struct {
		reason, in, want string
		options          oslo.Config
	}{
		"None": {reason: "No option is set.", in: "{}", options: oslo.Config{}},
		"Tuned": {
			reason: "Amounts and times can be set.", in: `{config: {DEFAULT: {max_concurrent_builds: 4}, Libvirt: {hw_machine_type: [x86_64=q35]}}}`,
			options: oslo.Config{"DEFAULT": {"max_concurrent_builds": int64(4)}, "libvirt": {"hw_machine_type": []string{"x86_64=q35"}}},
		},
		"NeverOffloaded": {
			reason: "Shelved servers may stay.", in: "{config: {DEFAULT: {shelved_offload_time: -1}}}",
			options: oslo.Config{"DEFAULT": {"shelved_offload_time": int64(-1)}},
		},
		"OffloadedLater": {
			reason: "Nobody may detach the volumes then.", in: "{config: {DEFAULT: {shelved_offload_time: 600}}}",
			want: in + "DEFAULT.shelved_offload_time: must be at most 0: " + noUser + "servers with volumes could not be offloaded; set 0 or -1",
		},
		"Field": {
			reason: "Fields set it, of slices, too.", in: "{config: {DEFAULT: {cpu_allocation_ratio: 4}}}",
			want: in + "DEFAULT.cpu_allocation_ratio: slices can override it; set spec.cpu.allocationRatio instead",
		},
		"Node": {
			reason: "It would have another file of the node.", in: "{config: {libvirt: {rng_dev_path: /etc/shadow}}}",
			want: in + "libvirt.rng_dev_path: " + reasonNodeAccess + "; remove it",
		},
		"Driver": {reason: "It would load code.", in: "{config: {DEFAULT: {compute_driver: a.B}}}", want: in + "DEFAULT.compute_driver: " + reasonNodeAccess + "; remove it"},
		"Group":  {reason: "No group but those.", in: "{config: {pci: {device_spec: '{}'}}}", want: in + "pci.device_spec: " + reasonNodeAccess + "; remove it"},
		"Unknown": {
			reason: "Nova has no such group.", in: "{config: {cora: {a: b}}}", want: in + "cora.a: nova RELEASE has no group [cora]: did you mean [cors]?",
		},
		"Typo": {
			reason: "It is reported as unknown, not as reserved.", in: "{config: {DEFAULT: {max_concurent_builds: 4}}}",
			want: in + "DEFAULT.max_concurent_builds: nova RELEASE has no option max_concurent_builds in the group [DEFAULT]: did you mean [DEFAULT] max_concurrent_builds?",
		},
		"Processors": {
			reason: "Processors of the node would be switched off.", in: "{config: {libvirt: {cpu_power_management: true}}}",
			want: in + "libvirt.cpu_power_management: " + reasonNodeAccess + "; remove it",
		},
		"Value": {
			reason: "Nova would not start.", in: "{config: {DEFAULT: {max_concurrent_builds: many}}}",
			want: in + `DEFAULT.max_concurrent_builds: [DEFAULT] max_concurrent_builds must be a whole number of at least 0, but "many" is not`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range registry.All("nova") {
				options, err := Compute(r.Release, overrides(t, tc.in).Config)
				got := ""
				if err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(strings.ReplaceAll(tc.want, "RELEASE", r.Release), got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", r.Release, tc.reason, diff)
				}
				if diff := cmp.Diff(tc.options, options); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", r.Release, tc.reason, diff)
				}
			}
		})
	}
}

// TestPoolOptionsHaveHarmlessNames checks that the names of options that a pool may set do not suggest access to other resources, except
// for reviewed ones.
func TestPoolOptionsHaveHarmlessNames(t *testing.T) {
	reviewed := map[string]bool{ // sizes, intervals and limits, despite their names
		"reserved_host_cpus": true, "reserved_host_disk_mb": true, "resume_guests_state_on_host_boot": true, "force_config_drive": true,
		"resource_provider_association_refresh": true,
	}
	for group, options := range novaCompute {
		for option, o := range options {
			if o.tenant && suspicious.MatchString(option) && !reviewed[option] {
				t.Errorf("[%s] %s is a pool's to set", group, option)
			}
		}
	}
}
