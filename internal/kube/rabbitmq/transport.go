package rabbitmq

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Transport is how a service reaches its virtual host.
type Transport struct {
	// UserVar and PasswordVar are the environment variables that hold both: letters, digits and hyphens, as in all that we generate, since
	// nobody escapes them.
	UserVar, PasswordVar string
	// Hosts of the queue, which are asked in turn until one answers, and their port.
	Hosts []string
	Port  int32
	// Vhost is the virtual host.
	Vhost string
	// CAFile holds the authority of the queue's certificate. Empty: no TLS.
	CAFile string
}

// URL is the transport_url of oslo.messaging, in which Kubernetes replaces $(UserVar) and $(PasswordVar). What it says of TLS goes before
// the configuration file, and so holds for each of several queues
// (https://docs.openstack.org/oslo.messaging/latest/reference/transport.html).
func (t Transport) URL() string {
	hosts := make([]string, len(t.Hosts))
	for i, h := range t.Hosts {
		hosts[i] = fmt.Sprintf("$(%s):$(%s)@%s", t.UserVar, t.PasswordVar, net.JoinHostPort(h, strconv.Itoa(int(t.Port))))
	}
	out := "rabbit://" + strings.Join(hosts, ",") + "/" + escape(t.Vhost)
	if t.CAFile != "" {
		out += "?ssl=true&ssl_ca_file=" + escape(t.CAFile)
	}
	return out
}

// escape encodes all that a URL, oslo.messaging (a comma) or oslo.config (a dollar) would give a meaning.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
