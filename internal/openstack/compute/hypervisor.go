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

// consoleOptions returns the options that enable consoles.
func consoleOptions(c novav1.Consoles) oslo.Config {
	return oslo.Config{
		"vnc":            {"enabled": c.Graphical == novav1.VNC},
		"spice":          {"enabled": c.Graphical == novav1.SPICE},
		"serial_console": {"enabled": c.Serial},
	}
}
