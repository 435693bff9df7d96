package rook

import (
	"net"
	"slices"
	"strings"
)

// ConfigMap and key in which Rook lists monitors, as <name>=<address>:<port>, separated by commas.
const (
	MonitorsName = "rook-ceph-mon-endpoints"
	MonitorsKey  = "data"
)

// Ports of a monitor, by protocol (https://docs.ceph.com/en/latest/rados/configuration/msgr2/).
const (
	port1 = "6789"
	port2 = "3300"
)

// Monitors returns the addresses of monitors in the format of ceph.conf, in the order of the monitors' names. Rook lists the port of the
// first protocol, unless only the second is enabled.
func Monitors(data string) []string {
	entries := strings.Split(data, ",")
	slices.Sort(entries)
	var out []string
	for _, e := range entries {
		_, address, ok := strings.Cut(strings.TrimSpace(e), "=")
		host, port, err := net.SplitHostPort(address)
		switch {
		case !ok || err != nil:
		case port == port1:
			out = append(out, "[v2:"+net.JoinHostPort(host, port2)+",v1:"+net.JoinHostPort(host, port1)+"]")
		case port == port2:
			out = append(out, "[v2:"+net.JoinHostPort(host, port2)+"]")
		default:
			out = append(out, net.JoinHostPort(host, port))
		}
	}
	return out
}
