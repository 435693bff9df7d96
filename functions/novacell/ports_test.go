package novacell

import "testing"

// TestConsoleProxiesReachNoOtherProgram verifies that console proxies reach no other program on hypervisors: policies admit them to ranges
// of ports on nodes, some of which may be nodes of Kubernetes or Ceph, too.
func TestConsoleProxiesReachNoOtherProgram(t *testing.T) {
	for program, ports := range map[string][]int32{
		// https://kubernetes.io/docs/reference/networking/ports-and-protocols/
		"Kubernetes": {2379, 2380, 6443, 10248, 10249, 10250, 10255, 10256, 10257, 10259},
		// https://libvirt.org/remote.html#limitations
		"libvirt": {16509, 16514},
		// https://docs.openvswitch.org/en/latest/faq/openflow/ and ovn-architecture(7)
		"Open vSwitch and OVN": {6633, 6640, 6641, 6642, 6643, 6644, 6645, 6653},
		// https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/
		"Ceph": {3300, 6789, 6800, 7568},
		// Migrations and disk transfer: migration_port_min and migration_port_max of qemu.conf
		"QEMU": {49152, 49215},
		"SSH":  {22},
	} {
		for _, c := range []console{vnc, spice, serial} {
			for _, port := range ports {
				if c.hypervisors.First <= port && port <= c.hypervisors.Last {
					t.Errorf("the proxy %s reaches port %d of %s on hypervisors", c.name, port, program)
				}
			}
		}
	}
}
