package novacell

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Addresses that a proxy listens on.
const (
	anyIPv4 = "0.0.0.0"
	anyIPv6 = "::"
)

// console is a kind of access to servers' consoles: a browser connects to a proxy of the server's cell, which connects to the hypervisor.
// https://docs.openstack.org/nova/latest/admin/remote-console-access.html
type console struct {
	name, program string
	// group has the options of the proxy's address, whose names begin with option.
	group, option string
	port          int32
	// ready is the readiness check of the proxy. One that serves no pages responds only to requests with a token.
	ready workload.Check
	// hypervisors are the ports on hypervisors to which it connects.
	hypervisors workload.Range
}

var (
	consolePortRange = workload.Range{First: compute.FirstConsolePort, Last: compute.LastConsolePort}
	vnc              = console{
		"vnc", "nova-novncproxy", "vnc", "novncproxy", novav1.VNCPort, workload.HTTPS(service.ProcessPort, compute.VNCPage), consolePortRange,
	}
	spice = console{
		"spice", "nova-spicehtml5proxy", "spice", "html5proxy", novav1.SPICEPort, workload.HTTPS(service.ProcessPort,
			compute.SPICEPage), consolePortRange,
	}
	serial = console{
		"serial", "nova-serialproxy", "serial_console", "serialproxy", novav1.SerialPort, workload.TCP(service.ProcessPort),
		workload.Range{First: compute.FirstSerialPort, Last: compute.LastSerialPort},
	}
)

// proxies returns the console proxies of the cell.
func (m *model) proxies() []console {
	var out []console
	switch m.spec.Consoles.Graphical {
	case novav1.VNC:
		out = append(out, vnc)
	case novav1.SPICE:
		out = append(out, spice)
	}
	if m.spec.Consoles.Serial {
		out = append(out, serial)
	}
	return out
}

// proxy returns the process of a console proxy. Its egress is limited to the hypervisor networks of the cell. It validates tokens of
// consoles in the database of the cell, and has no account of Keystone (nova.console.websocketproxy).
func (m *model) proxy(c console) service.Process {
	p := service.Process{
		Process: m.spec.Proxies.Process, Name: c.name, Title: "the console proxy " + c.name + " of Nova's cell " + m.spec.Cell,
		Outage: "consoles of the servers in this cell are unavailable", Command: []string{c.program}, WithoutKeystone: true,
		Port: c.port, Exposure: m.exposure(c), Ready: c.ready, TerminationGracePeriod: compute.TerminationGracePeriod,
	}
	if c.name == vnc.name {
		p.Mounts, p.Env = []service.Volume{m.vncCertificate()}, m.vncEnv()
	}
	if networks := service.Strings(m.spec.HypervisorNetworks); len(networks) > 0 {
		p.Egress = []workload.Flow{{Blocks: networks, Ranges: []workload.Range{c.hypervisors}}}
	}
	return p
}

func (m *model) exposure(c console) *common.ServiceExposure {
	if c.name == serial.name {
		return m.spec.Proxies.SerialExposure
	}
	return m.spec.Proxies.Exposure
}
