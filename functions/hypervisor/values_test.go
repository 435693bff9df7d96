package hypervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSlicesOverrideSettingsOfPool verifies settings of nodes for each group: settings of a slice override the pool's.
func TestSlicesOverrideSettingsOfPool(t *testing.T) {
	const (
		bond     = "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond0}]"
		sliceOf  = `slices: [{name: fast, nodeSelector: {fast: "true"}, `
		mappings = "spec.networks.bridgeMappings"
	)
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"disjoint sets":          {reason: "No processor is in both.", spec: `cpu: {dedicatedSet: "2-10,^4", sharedSet: "0-1,4"}`},
		"common processors":      {"Nova exits.", `cpu: {dedicatedSet: 2-10, sharedSet: 8-12}`, "spec.cpu.dedicatedSet: cannot contain processors of spec.cpu.sharedSet: both contain 8-10; remove them from one of the sets"},
		"of the slice":           {"It has the shared ones of its pool.", `cpu: {sharedSet: 0-3}, ` + sliceOf + `cpu: {dedicatedSet: 3-9}}]`, "spec.slices[0].cpu.dedicatedSet: cannot contain processors of spec.cpu.sharedSet: both contain 3; remove them from one of the sets"},
		"shared ones of a slice": {"It has the dedicated ones of its pool.", `cpu: {dedicatedSet: 2-9}, ` + sliceOf + `cpu: {sharedSet: 0-2}}]`, "spec.slices[0].cpu.sharedSet: cannot contain processors of spec.cpu.dedicatedSet: both contain 2; remove them from one of the sets"},
		"both sets wrong": {"Each is reported.", `cpu: {dedicatedSet: 9-8, sharedSet: 3-2}`, "spec.cpu.dedicatedSet: range \"9-8\" in \"9-8\" must begin with the smaller number; write numbers and ranges of processors, such as 2-10,^4\n" +
			"spec.cpu.sharedSet: range \"3-2\" in \"3-2\" must begin with the smaller number; write numbers and ranges of processors, such as 2-10,^4"},
		"no ratios": {"A decimal point is required.", `cpu: {allocationRatio: "1,5"}, ` + sliceOf + `memory: {allocationRatio: two}}]`, "spec.cpu.allocationRatio: \"1,5\" is not a number; set one such as 1.5\n" +
			"spec.slices[0].memory.allocationRatio: \"two\" is not a number; set one such as 1.5"},
		"ratio of the pool":                {"Dedicated processors are not shared.", `cpu: {allocationRatio: 4}, ` + sliceOf + `cpu: {dedicatedSet: 3-9}}]`, "spec.cpu.allocationRatio: requires sharedSet in addition to dedicatedSet: dedicated processors are not shared; set sharedSet, or remove allocationRatio"},
		"ratio of the slice":               {"The reverse also applies.", `cpu: {dedicatedSet: 3-9}, ` + sliceOf + `cpu: {allocationRatio: 4}}]`, "spec.slices[0].cpu.allocationRatio: requires sharedSet in addition to dedicatedSet: dedicated processors are not shared; set sharedSet, or remove allocationRatio"},
		"mode without models":              {"libvirt has none to choose from.", `cpu: {mode: custom}`, "spec.cpu.models: mode custom requires at least one model; set models, or another mode"},
		"other interfaces":                 {reason: "Each has one use.", spec: "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond0}, {physicalNetwork: storage, bridge: br-st, interface: bond1}], encapsulation: {interface: bond2}, liveMigration: {interface: br-ex}}"},
		"interface twice":                  {"An interface is in one bridge.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond0}, {physicalNetwork: storage, bridge: br-st, interface: bond0}]}", mappings + "[1].interface: bond0 is in bridge br-ex already, and an interface is in one bridge; name another interface"},
		"bridge twice":                     {"VLANs of both networks would be the same.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex}, {physicalNetwork: storage, bridge: br-ex}]}", mappings + "[1].bridge: br-ex is the bridge of physical network external already, and the VLANs of both would be the same; name another bridge"},
		"bridge in bridge":                 {"It is no interface.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: br-st}, {physicalNetwork: storage, bridge: br-st}]}", mappings + "[0].interface: br-st is a bridge, which cannot be put into a bridge; name an interface of the node"},
		"integration bridge":               {"Servers are connected to it.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-int}]}", mappings + "[0].bridge: cannot be br-int, to which servers are connected; name another one, such as br-ex"},
		"integration bridge in bridge":     {"It is no interface.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: br-int}]}", mappings + "[0].interface: br-int is a bridge, which cannot be put into a bridge; name an interface of the node"},
		"tunnel bridge in bridge":          {"It is no interface.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: br-tun}]}", mappings + "[0].interface: br-tun is a bridge, which cannot be put into a bridge; name an interface of the node"},
		"tunnels":                          {"The node does not reach the address.", bond + ", encapsulation: {interface: bond0}}", "spec.networks.encapsulation.interface: bond0 is put into bridge br-ex, where the node does not reach its address, and tunnels end at its address; name another interface, or the bridge"},
		"migrations":                       {"The node does not reach the address.", bond + ", liveMigration: {interface: bond0}}", "spec.networks.liveMigration.interface: bond0 is put into bridge br-ex, where the node does not reach its address, and live migrations end at its address; name another interface, or the bridge"},
		"of its pool":                      {"The slice has the bridges of its pool.", bond + "}, " + sliceOf + "networks: {encapsulation: {interface: bond0}}}]", "spec.slices[0].networks.encapsulation.interface: bond0 is put into bridge br-ex, where the node does not reach its address, and tunnels end at its address; name another interface, or the bridge"},
		"loopback in bridge":               {"The node uses it.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: lo}]}", mappings + "[0].interface: cannot be lo, which is the loopback interface, which only the node itself reaches; set another name"},
		"datapath as bridge":               {"The kernel has an interface of that name.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: ovs-system}]}", mappings + "[0].bridge: cannot be ovs-system, which is the datapath of Open vSwitch; set another name"},
		"tunnel as bridge":                 {"Open vSwitch makes it.", "networks: {bridgeMappings: [{physicalNetwork: external, bridge: genev_sys_6081}]}", mappings + "[0].bridge: cannot be genev_sys_6081, which is an interface that Open vSwitch makes for tunnels; set another name"},
		"own name like a reserved one":     {reason: "Only the whole name lo is reserved.", spec: "networks: {bridgeMappings: [{physicalNetwork: external, bridge: lob, interface: lo1}]}"},
		"tunnels at loopback":              {"No other node reaches it.", sliceOf + "networks: {encapsulation: {interface: lo}}}]", "spec.slices[0].networks.encapsulation.interface: cannot be lo, which is the loopback interface, which only the node itself reaches; set another name"},
		"tunnels at a bridge of Neutron":   {"It has no address.", "networks: {encapsulation: {interface: br-int}}", "spec.networks.encapsulation.interface: br-int is a bridge of Neutron, which has no address, and tunnels end at its address; set an interface of the node"},
		"gateways outside the pool":        {"No node of the pool has both.", "nodeSelector: {zone: a}, networks: {gateway: {nodeSelector: {zone: b}}}", "spec.networks.gateway.nodeSelector: no node here has zone=b, since all have zone=a; remove that label, or set another one"},
		"gateways in no slice":             {reason: "The others of the pool are gateways.", spec: sliceOf + `cpu: {mode: host-model}}], networks: {gateway: {nodeSelector: {fast: "false"}}}`},
		"gateways of a slice":              {"No node of the slice has both.", sliceOf + `networks: {gateway: {nodeSelector: {fast: "false"}}}}]`, "spec.slices[0].networks.gateway.nodeSelector: no node here has fast=false, since all have fast=true; remove that label, or set another one"},
		"emulation":                        {"libvirt starts no server.", "virtualization: {driver: qemu}, cpu: {mode: host-passthrough}", "spec.cpu.mode: host-passthrough requires virtualization.driver kvm: driver qemu emulates processors; set another mode, or driver kvm"},
		"emulation of the largest":         {reason: "QEMU emulates it.", spec: "virtualization: {driver: qemu}, cpu: {mode: maximum}"},
		"card in bridge":                   {"A card serves a bridge or servers.", bond + `}, pciDevices: [{name: a, vendorID: "8086", productID: "1889", interface: bond0, physicalNetwork: physnet1}]`, "spec.pciDevices[0].interface: bond0 is in bridge br-ex already, and a network card serves a bridge or servers (SR-IOV); name another interface here or in bridgeMappings"},
		"device twice":                     {"Nova takes the first.", `pciDevices: [{name: a, address: "0000:3b:00.*", resourceClass: CUSTOM_A}, {name: b, address: "*:3b:00.1", resourceClass: CUSTOM_B}]`, "spec.pciDevices[1]: its devices also match pciDevices[0] (a), and a device is in one entry; set another address, or other vendorID and productID"},
		"product twice":                    {"Nova takes the first.", `pciDevices: [{name: a, vendorID: 10de, productID: 20b5, resourceClass: CUSTOM_A}, {name: b, vendorID: 10de, productID: 20b5, resourceClass: CUSTOM_B}]`, "spec.pciDevices[1]: its devices also match pciDevices[0] (a), and a device is in one entry; set another address, or other vendorID and productID"},
		"two names":                        {reason: "Flavors may call one device by two names.", spec: `pciDevices: [{name: a, vendorID: 10de, productID: 20b5}, {name: b, vendorID: 10de, productID: 20b5}]`},
		"two products":                     {reason: "They are other devices.", spec: `pciDevices: [{name: a, vendorID: 10de, productID: 20b5, resourceClass: CUSTOM_A}, {name: b, vendorID: 10de, productID: 20b6, resourceClass: CUSTOM_B}]`},
		"two addresses":                    {reason: "They are other devices.", spec: `pciDevices: [{name: a, address: "0000:3b:00.0", resourceClass: CUSTOM_A}, {name: b, address: "0000:3b:00.1", resourceClass: CUSTOM_B}]`},
		"address and product":              {reason: "The device at the address is unknown.", spec: `pciDevices: [{name: a, address: "0000:3b:00.0", resourceClass: CUSTOM_A}, {name: b, vendorID: 10de, productID: 20b5, resourceClass: CUSTOM_B}]`},
		"migrations of the node's libvirt": {"Its operating system configures it.", "virtualization: {libvirt: {mode: Host}}, networks: {liveMigration: {interface: bond0}}", "spec.networks.liveMigration.interface: requires virtualization.libvirt.mode Managed: with mode Host the operating system of the node configures its libvirt; remove it"},
		"memory of every agent": {
			"The processes cannot start with less.",
			"virtualization: {libvirt: {resources: {limits: {memory: 8Mi}}}}, agents: {novaCompute: {resources: {limits: {memory: 8Mi}}}, ovnController: {resources: {limits: {memory: 8Mi}}}, " +
				"openvswitch: {resources: {limits: {memory: 8Mi}}}, metadata: {resources: {limits: {memory: 8Mi}}}, labelsInjector: {resources: {limits: {memory: 8Mi}}}}",
			"spec.agents.novaCompute.resources.limits.memory: must be at least 256Mi for nova-compute, not 8Mi: nova-compute and its privileged helper need as much; set 256Mi or more, or remove the field\n" +
				"spec.agents.ovnController.resources.limits.memory: must be at least 64Mi for Open vSwitch, not 8Mi: the switch and its database need as much; set 64Mi or more, or remove the field\n" +
				"spec.agents.openvswitch.resources.limits.memory: must be at least 64Mi for Open vSwitch, not 8Mi: the switch and its database need as much; set 64Mi or more, or remove the field\n" +
				"spec.agents.metadata.resources.limits.memory: must be at least 128Mi for a Neutron agent, not 8Mi: the agent needs as much to start; set 128Mi or more, or remove the field\n" +
				"spec.agents.labelsInjector.resources.limits.memory: must be at least 32Mi for a node agent, not 8Mi: the agent needs as much to start; set 32Mi or more, or remove the field\n" +
				"spec.virtualization.libvirt.resources.limits.memory: must be at least 64Mi for libvirt, not 8Mi: the daemon needs as much to start; set 64Mi or more, or remove the field",
		},
		"physical network": {"Servers would have no way out.", "networks: {bridgeMappings: [{physicalNetwork: extrenal, bridge: br-ex}]}, " + sliceOf + "networks: {bridgeMappings: [{physicalNetwork: nobody, bridge: br-ex}]}}]",
			mappings + `[0].physicalNetwork: "extrenal" must be a physical network of the control plane cloud of namespace tenant-a, which has external, storage, physnet1, physnet2, a; ` +
				"correct the name, or ask its owner to add it to services.neutron.ml2.physicalNetworks\n" +
				`spec.slices[0].networks.bridgeMappings[0].physicalNetwork: "nobody" must be a physical network of the control plane cloud of namespace tenant-a, which has external, storage, physnet1, physnet2, a; ` +
				"correct the name, or ask its owner to add it to services.neutron.ml2.physicalNetworks"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := "", makeReady(newCluster(more(tc.spec), "tenant-a", objects(planeClaim, withCards)...))
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRejectsConflictingAvailabilityZones checks that nodes are in one availability zone: aggregates of the control plane put them into
// theirs.
func TestRejectsConflictingAvailabilityZones(t *testing.T) {
	plane := strings.Replace(controlPlaneYAML, "nova: {enabled: true}", "nova: {enabled: true, aggregates: [{name: fast, availabilityZone: z1}, {name: big, availabilityZone: z2}, {name: any}]}", 1)
	if plane == controlPlaneYAML {
		t.Fatal("the control plane has no aggregates")
	}
	const ofPlane = "of the control plane cloud of namespace tenant-a is in availability zone "
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"same zone":     {reason: "It is the zone of the aggregate.", spec: "availabilityZone: z1, aggregates: [fast, any]"},
		"no zone":       {reason: "The aggregate gives them one.", spec: "aggregates: [fast, any]"},
		"zone of pool":  {"A host is in one zone.", "availabilityZone: z9, aggregates: [any, fast]", "spec.aggregates[1]: aggregate fast " + ofPlane + "z1, and availabilityZone puts these nodes into z9; a node is in one zone: remove one of them"},
		"two of them":   {"A host is in one zone.", "aggregates: [fast, big]", "spec.aggregates[1]: aggregate big " + ofPlane + "z2, and aggregate fast puts these nodes into z1; a node is in one zone: remove one of them"},
		"zone of slice": {"It has the aggregates of its pool.", `aggregates: [fast], slices: [{name: a, nodeSelector: {a: "1"}, availabilityZone: z2}]`, "spec.aggregates[0]: aggregate fast " + ofPlane + "z1, and availabilityZone puts these nodes into z2; a node is in one zone: remove one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := "", makeReady(newCluster(more(tc.spec), "tenant-a", objects(planeClaim, plane)...))
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
