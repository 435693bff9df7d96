package policy

import (
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Connection is a tracked connection: its client, its server, and the server's port.
type Connection struct {
	From, To netip.Addr
	Protocol corev1.Protocol
	Port     int32
}

// ParseConntrack parses the output of `conntrack -L -o extended`, and /proc/net/nf_conntrack. Each line has the
// original direction of the connection, possibly to a Service, and the reply direction, with the real server. A
// connection without a reply is omitted.
//
//	ipv4 2 tcp 6 117 TIME_WAIT src=10.0.0.7 dst=10.96.3.1 sport=4011 dport=5000 src=10.0.0.9 dst=10.0.0.7 sport=5000 dport=4011 [ASSURED]
func ParseConntrack(text string) []Connection {
	var out []Connection
	for line := range strings.Lines(text) {
		if c, ok := connection(strings.Fields(line)); ok {
			out = append(out, c)
		}
	}
	return out
}

func connection(fields []string) (Connection, bool) {
	const protocol = 2
	c := Connection{}
	if len(fields) <= protocol {
		return c, false
	}
	c.Protocol = corev1.Protocol(strings.ToUpper(fields[protocol]))
	values := map[string][]string{} // of the way there, and of the way back
	for _, f := range fields {
		if f == "[UNREPLIED]" {
			return c, false
		}
		if key, value, ok := strings.Cut(f, "="); ok {
			values[key] = append(values[key], value)
		}
	}
	if len(values["src"]) != 2 || len(values["sport"]) != 2 {
		return c, false // it has no ports
	}
	from, err := netip.ParseAddr(values["src"][0])
	if err != nil {
		return c, false
	}
	to, err := netip.ParseAddr(values["src"][1])
	if err != nil {
		return c, false
	}
	port, err := strconv.ParseInt(values["sport"][1], 10, 32)
	c.From, c.To, c.Port = from, to, int32(port)
	return c, err == nil
}
