package compute

import (
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Pages of the console proxies, which are part of the images.
const (
	VNCPage   = "/vnc_lite.html"
	SPICEPage = "/spice_auto.html"
)

// Ports of the graphical consoles of servers on a hypervisor: libvirt assigns the lowest free one to each server (remote_display_port_min
// and remote_display_port_max in src/qemu/qemu.conf). The range is sufficient for 543 servers on a hypervisor. It begins at libvirt's
// default, and ends below the ports of other programs on nodes: 6443 of Kubernetes, 6640 to 6645 of Open vSwitch and OVN, 6789 and 6800 to
// 7568 of Ceph.
const (
	FirstConsolePort = 5900
	LastConsolePort  = 6442
)

// Ports of serial consoles on a hypervisor, which nova-compute assigns ([serial_console] port_range). Nova's default range from 10000 to
// 20000 includes ports of other programs on nodes: 10250 to 10259 of Kubernetes, and 16509 and 16514 of libvirt.
const (
	FirstSerialPort = 10260
	LastSerialPort  = 16508
)

// consoleOptions returns the options that enable consoles.
func consoleOptions(c novav1.Consoles) oslo.Config {
	return oslo.Config{
		"vnc":            {"enabled": c.Graphical == novav1.VNC},
		"spice":          {"enabled": c.Graphical == novav1.SPICE},
		"serial_console": {"enabled": c.Serial},
	}
}
