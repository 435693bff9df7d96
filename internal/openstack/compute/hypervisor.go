package compute

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Pages of the proxies, which images bring.
const (
	VNCPage   = "/vnc_lite.html"
	SPICEPage = "/spice_auto.html"
)

// HypervisorConsoles are the options of a cell's hypervisors that follow from the consoles of the control plane: nova-compute makes the
// token of a console, and the address that a browser is sent to, which is that of the cell's proxy. Where a console listens is the
// hypervisor's own. A proxy takes a page of its own host only, by the scheme of this address, so that a serial console has to say wss.
// https://docs.openstack.org/nova/latest/admin/remote-console-access.html
func HypervisorConsoles(c novav1.Consoles, screens, serial *common.ServiceExposure) oslo.Config {
	out := consoleOptions(c)
	if screens != nil {
		switch c.Graphical {
		case novav1.VNC:
			out["vnc"]["novncproxy_base_url"] = "https://" + string(screens.Hostname) + VNCPage
		case novav1.SPICE:
			out["spice"]["html5proxy_base_url"] = "https://" + string(screens.Hostname) + SPICEPage
		}
	}
	if c.Serial && serial != nil {
		out["serial_console"]["base_url"] = "wss://" + string(serial.Hostname) + "/"
	}
	return out
}

// consoleOptions say which consoles there are.
func consoleOptions(c novav1.Consoles) oslo.Config {
	return oslo.Config{
		"vnc":            {"enabled": c.Graphical == novav1.VNC},
		"spice":          {"enabled": c.Graphical == novav1.SPICE},
		"serial_console": {"enabled": c.Serial},
	}
}
