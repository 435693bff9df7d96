package rabbitmq

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Transport describes the connection of a service to its virtual host.
type Transport struct {
	// UserVar and PasswordVar are the environment variables with user and password. Generated values consist of letters, digits and
	// hyphens, so they need no escaping.
	UserVar, PasswordVar string
	// Hosts of the queue, which clients try in turn until one responds, and their port.
	Hosts []string
	Port  int32
	// Vhost is the virtual host.
	Vhost string
	// CAFile holds the authority of the queue's certificate. Empty: no TLS.
	CAFile string
}

// URL returns the transport_url of oslo.messaging, in which Kubernetes replaces $(UserVar) and $(PasswordVar). Its TLS options override
// the configuration file, and so apply to each of several queues
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

// escape encodes all characters with a special meaning in a URL, oslo.messaging (a comma) or oslo.config (a dollar).
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
