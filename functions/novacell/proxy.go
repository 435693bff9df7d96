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

// console is a way to the screens of virtual machines: a browser is led to a proxy of their cell, which asks their hypervisor whether it may
// connect. https://docs.openstack.org/nova/latest/admin/remote-console-access.html
type console struct {
	name, program string
	port          int32
	// ready is how a proxy is found to work. One that serves no pages answers no request without a token.
	ready workload.Check
	// hypervisors are the ports that it connects to there.
	hypervisors workload.Range
}

var (
	screens = workload.Range{First: 5900, Last: 65535}
	vnc     = console{
		"vnc", "nova-novncproxy", novav1.VNCPort, workload.HTTPS(service.ProcessPort, "/vnc_lite.html"), screens,
	}
	spice = console{
		"spice", "nova-spicehtml5proxy", novav1.SPICEPort, workload.HTTPS(service.ProcessPort, "/spice_auto.html"), screens,
	}
	serial = console{
		"serial", "nova-serialproxy", novav1.SerialPort, workload.TCP(service.ProcessPort), workload.Range{First: 10000, Last: 65535},
	}
)

// proxies are those of the cell.
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

func (m *model) proxy(c console) service.Process {
	return service.Process{
		Process: m.spec.Proxies.Process, Name: c.name, Title: "the console proxy " + c.name + " of Nova's cell " + m.spec.Cell,
		Outage: "nobody sees the screens of the cell's virtual machines", Command: []string{c.program},
		Port: c.port, Exposure: m.exposure(c), Ready: c.ready, Mercy: compute.Mercy,
		Reaches: []workload.Flow{{Anywhere: true, Ranges: []workload.Range{c.hypervisors}}},
	}
}

func (m *model) exposure(c console) *common.ServiceExposure {
	if c.name == serial.name {
		return m.spec.Proxies.SerialExposure
	}
	return m.spec.Proxies.Exposure
}
