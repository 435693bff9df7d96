package compute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// TestHypervisorConsoles: hypervisors send browsers to the proxies that there are, and to no others.
func TestHypervisorConsoles(t *testing.T) {
	at := func(host common.Hostname) *common.ServiceExposure { return &common.ServiceExposure{Hostname: host} }
	cases := map[string]struct {
		reason          string
		consoles        novav1.Consoles
		screens, serial *common.ServiceExposure
		want            oslo.Config
	}{
		"VNC": {
			reason:   "VNC has the page of noVNC",
			consoles: novav1.Consoles{Graphical: novav1.VNC}, screens: at("console.example.com"), serial: at("serial.example.com"),
			want: oslo.Config{
				"vnc":   {"enabled": true, "novncproxy_base_url": "https://console.example.com/vnc_lite.html"},
				"spice": {"enabled": false}, "serial_console": {"enabled": false},
			},
		},
		"SPICEAndSerial": {
			reason:   "a hypervisor has one protocol of screens, and VNC is on unless it is told",
			consoles: novav1.Consoles{Graphical: novav1.SPICE, Serial: true}, screens: at("console.example.com"), serial: at("serial.example.com"),
			want: oslo.Config{
				"vnc":            {"enabled": false},
				"spice":          {"enabled": true, "html5proxy_base_url": "https://console.example.com/spice_auto.html"},
				"serial_console": {"enabled": true, "base_url": "wss://serial.example.com/"},
			},
		},
		"Inside": {
			reason:   "what is not exposed has no public address",
			consoles: novav1.Consoles{Graphical: novav1.SPICE, Serial: true},
			want:     oslo.Config{"vnc": {"enabled": false}, "spice": {"enabled": true}, "serial_console": {"enabled": true}},
		},
		"None": {
			reason:   "without screens there may be serial consoles",
			consoles: novav1.Consoles{Graphical: novav1.None, Serial: true}, serial: at("serial.example.com"),
			want: oslo.Config{
				"vnc": {"enabled": false}, "spice": {"enabled": false},
				"serial_console": {"enabled": true, "base_url": "wss://serial.example.com/"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, compute.HypervisorConsoles(tc.consoles, tc.screens, tc.serial)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
