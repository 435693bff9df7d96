package hypervisor

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGuests_UseCurrentMachineTypes(t *testing.T) {
	got := guestOptions()
	for _, tc := range []struct {
		reason, group, option string
		want                  any
	}{
		{"i440fx has no PCI Express, and a server cannot leave its type.", "libvirt", "hw_machine_type", []string{"x86_64=q35", "aarch64=virt"}},
		{"A q35 machine takes one volume after its start without more ports; Nova accepts at most 28.", "libvirt", "num_pcie_ports", 24},
		{"Nova refuses a migration between equal nodes otherwise.", "workarounds", "skip_cpu_compare_on_dest", true},
	} {
		if diff := cmp.Diff(tc.want, got[tc.group][tc.option]); diff != "" {
			t.Errorf("%s [%s] %s (-want +got):\n%s", tc.reason, tc.group, tc.option, diff)
		}
	}
	for group := range maps.Keys(got) {
		if group != "libvirt" && group != "workarounds" {
			t.Errorf("group %s has nothing to do with virtual machines", group)
		}
	}
}
