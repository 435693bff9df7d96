package extraspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestCheck checks that names and values that Nova's API accepts are valid, and that errors contain the valid values.
// Nova's own validators returned the same results.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, value, want string }{
		"value of a list":           {"It is one of them.", "hw:cpu_policy", "dedicated", ""},
		"value of no list":          {"Nova names the values.", "hw:cpu_policy", "dedicatd", `"dedicatd" is none of its values; set one of dedicated, shared, mixed`},
		"case of a value":           {"The comparison is case-sensitive.", "hw:cpu_policy", "Dedicated", `"Dedicated" is none of its values; set one of dedicated, shared, mixed`},
		"misspelled name":           {"Another is meant.", "hw:cpu_polcy", "dedicated", `is not an extra spec of Nova 2025.2; did you mean "hw:cpu_policy"?`},
		"unknown name":              {"No name is similar.", "hw:nonsense_of_mine", "1", "is not an extra spec of Nova 2025.2; correct or remove it"},
		"another namespace":         {"A filter of the platform may read it.", "mine:anything", "x", ""},
		"no namespace":              {"Nova takes any.", "anything", "x", ""},
		"boolean":                   {"oslo.utils takes ten words.", "hw:mem_encryption", "Yes", ""},
		"no boolean":                {"maybe is none.", "hw:mem_encryption", "maybe", `"maybe" is no boolean; set true or false`},
		"integer":                   {"It is in the range.", "hw:numa_nodes", "2", ""},
		"no integer":                {"A unit is none.", "hw:numa_nodes", "2x", `"2x" is no integer; set one`},
		"too small":                 {"A server has a node at least.", "hw:numa_nodes", "0", "0 is too small; set 1 or more"},
		"too large":                 {"Nova has a maximum.", "hw:redirected_usb_ports", "16", "16 is too large; set 15 or less"},
		"pattern":                   {"A size with a unit.", "hw:mem_page_size", "1GB", ""},
		"no pattern":                {"A word that is none.", "hw:mem_page_size", "huge", `"huge" does not match the expression (large|small|any|\d+([kKMGT]i?)?(b|bit|B)?) of Nova; correct it`},
		"whole pattern":             {"The beginning is not enough.", "pci_passthrough:alias", "gpu:1 ", `"gpu:1 " does not match the expression [^:]+:\d+(?:\s*,\s*[^:]+:\d+)* of Nova; correct it`},
		"resource":                  {"A number of a class.", "resources:VCPU", "2", ""},
		"resource of a group":       {"Groups have names.", "resources_net1:SRIOV_NET_VF", "1", ""},
		"negative resource":         {"The scheduler logs a warning only.", "resources_net1:VCPU", "-1", "-1 is negative: Nova's API takes it, and the scheduler ignores it; set 0 or more"},
		"no resource":               {"It overrides the flavor's own number.", "resources:VCPU", "0", ""},
		"custom resource":           {"Operators name them.", "resources:CUSTOM_GOLD", "1", ""},
		"resource in small":         {"Classes are in capitals.", "resources:custom_gold", "1", `is not an extra spec of Nova 2025.2; correct or remove it`},
		"trait":                     {"It is valid.", "trait:HW_CPU_X86_AVX2", "required", ""},
		"value of a trait":          {"A trait is required or forbidden.", "trait:HW_CPU_X86_AVX2", "true", `"true" is none of its values; set one of required, forbidden`},
		"misspelled trait":          {"Another is meant.", "trait:HW_CPU_X86_AVX22", "required", `is not an extra spec of Nova 2025.2; did you mean "trait:HW_CPU_X86_AVX2"?`},
		"quota":                     {"Nova limits servers by it.", "quota:vif_inbound_average", "100", ""},
		"capability":                {"A filter compares it.", "capabilities:cpu_info:features", "<in> avx", ""},
		"aggregates":                {"Administrators name keys.", "aggregate_instance_extra_specs:ssd", "true", ""},
		"number of a node":          {"Nodes have numbers.", "hw:numa_cpus.0", "0-3", ""},
		"name in place of a number": {"a is none.", "hw:numa_cpus.a", "0-3", `is not an extra spec of Nova 2025.2; correct or remove it`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Check("2025.2", tc.spec, tc.value); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEachReleaseHasItsRules checks that each supported release has its own rules.
func TestEachReleaseHasItsRules(t *testing.T) {
	for _, r := range release.Releases() {
		if err := Check(string(r), "hw:cpu_policy", "shared"); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	if err := Check("2025.1", "hw:tpm_secret_security", "host"); err == nil {
		t.Error("2025.1 has no secrets of a vTPM that a host keeps")
	}
	if err := Check("2026.1", "hw:tpm_secret_security", "host"); err != nil {
		t.Errorf("2026.1 has them: %v", err)
	}
	if err := Check("2024.1", "hw:cpu_policy", "shared"); err == nil || !strings.Contains(err.Error(), `not known in release "2024.1"`) {
		t.Errorf("a release that is not supported: %v", err)
	}
}
