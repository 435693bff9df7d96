package composed

import (
	"regexp"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// clouds returns the clouds of the tables: all services with OVN, with Ceph and hypervisors, and in another size.
func clouds(t *testing.T) []*cloud {
	t.Helper()
	return []*cloud{
		example(t, "complete/storage.yaml", ""), example(t, "complete/control-plane.yaml", ""), example(t, "complete/hypervisors.yaml", ""),
		example(t, "controlplane/services.yaml", ""),
	}
}

// plain lists addresses without TLS that are correct, as regular expressions of the whole text.
var plain = []struct{ reason, kind, text string }{
	{"The metadata service of a server has no TLS; the address is local to its network.", "ConfigMap", `http://169\.254\.169\.254(:\d+)?/.*`},
	{"A program on the same node or in the same pod.", "", `http://(127\.0\.0\.1|localhost|\[::1\])([:/].*)?`},
	{"A schema of XML, not an address.", "ConfigMap", `http://libvirt\.org/.*`},
	{"A schema of XML, not an address.", "ConfigMap", `http://www\.w3\.org/.*`},
}

// address matches addresses by which programs reach each other.
var address = regexp.MustCompile(`\b(?:rabbit|amqps?|mysql(?:\+pymysql)?|rediss?|memcached|ws|ldap|http)://[^\s"']+|\b(?:tcp|ptcp|ssl|pssl):[^\s"',]+`)

// insecure returns what is wrong with an address.
func insecure(kind, text string) string {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "rabbit":
		if !strings.Contains(rest, "ssl=true") || !strings.Contains(rest, "ssl_ca_file=") {
			return "without ssl=true and ssl_ca_file"
		}
	case "mysql+pymysql":
		// SQLAlchemy and PyMySQL verify certificate and host name as soon as there is an authority.
		if !strings.Contains(rest, "ssl_ca=") || strings.Contains(rest, "ssl_check_hostname") {
			return "without ssl_ca"
		}
	case "redis":
		if !strings.Contains(rest, "ssl=true") || !strings.Contains(rest, "ssl_ca_certs=") {
			return "without ssl=true and ssl_ca_certs"
		}
	case "ssl", "pssl", "rediss", "amqps":
	default:
		for _, p := range plain {
			if (p.kind == "" || p.kind == kind) && regexp.MustCompile("^"+p.text+"$").MatchString(text) {
				return ""
			}
		}
		return "without TLS"
	}
	return ""
}

// texts calls f with every string of a value.
func texts(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			texts(e, f)
		}
	case map[string]any:
		for _, e := range v {
			texts(e, f)
		}
	}
}

func TestAddressesUseTLS(t *testing.T) {
	schemes := map[string]int{}
	for _, c := range clouds(t) {
		for _, o := range c.objects {
			if o.Kind == "PrometheusRule" {
				continue // Its texts are expressions.
			}
			texts(o.manifest, func(text string) {
				for _, a := range address.FindAllString(text, -1) {
					scheme, _, _ := strings.Cut(a, ":")
					schemes[scheme]++
					if why := insecure(o.Kind, a); why != "" {
						t.Errorf("%s: %s: %s is %s", c.name, o, a, why)
					}
				}
			})
		}
	}
	for _, scheme := range []string{"rabbit", "mysql+pymysql", "ssl"} {
		if schemes[scheme] < 3 {
			t.Errorf("%d addresses begin with %s", schemes[scheme], scheme)
		}
	}
}

// TestDetectsInsecureAddresses breaks each kind of address.
func TestDetectsInsecureAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"rabbit://u:p@rabbitmq.a.svc:5671/nova?ssl=true&ssl_ca_file=/ca": false, "rabbit://u:p@rabbitmq.a.svc:5672/nova": true,
		"mysql+pymysql://u@h/d?ssl_ca=/ca": false, "mysql+pymysql://u@h/d?ssl_ca=/ca&ssl_check_hostname=false": true, "mysql+pymysql://u@h/d?charset=utf8": true,
		"redis://:p@h:6379?ssl=true&ssl_ca_certs=/ca": false, "redis://:p@h:6379": true,
		"ssl:ovn:6641": false, "tcp:ovn:6641": true, "ptcp:6641": true, "http://glance:9292": true, "http://127.0.0.1:8080/": false,
	} {
		if got := insecure("Deployment", text) != ""; got != want {
			t.Errorf("%s is insecure: %t, want %t", text, got, want)
		}
	}
}

// internalHost matches names of Services.
var internalHost = regexp.MustCompile(`\b(?:mariadb|rabbitmq|memcached|valkey` + serviceNames() + `)(?:-[a-z0-9]+)*\.[a-z0-9.-]+\.svc\b`)

// serviceNames returns the names of all services, which begin the names of their Services.
func serviceNames() string {
	var out strings.Builder
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		out.WriteString("|" + k.Folder)
	}
	return out.String()
}

// TestServersReachTheirAddresses holds options with addresses that servers of tenants use to public ones.
func TestServersReachTheirAddresses(t *testing.T) {
	c, found := example(t, "complete/control-plane.yaml", ""), 0
	for _, row := range []struct{ reason, prefix, file, group, option string }{
		{"Agents in servers of a stack read their metadata there.", "heat-config", "heat.conf", "DEFAULT", "heat_metadata_server_url"},
		{"Servers of a stack report there that they have started.", "heat-config", "heat.conf", "DEFAULT", "heat_waitcondition_server_url"},
		{"Barbican puts the address into references that clients follow.", "barbican-config", "barbican.conf", "DEFAULT", "host_href"},
		{"A client without a token is sent there.", "nova-config", "nova.conf", "keystone_authtoken", "www_authenticate_uri"},
	} {
		for _, o := range c.objects {
			if o.Kind != "ConfigMap" || !strings.HasPrefix(o.Name, row.prefix) {
				continue
			}
			found++
			got := option(t, o, row.file, row.group, row.option)
			if !strings.HasPrefix(got, "https://") || internalHost.MatchString(got) || strings.Contains(got, ".svc") {
				t.Errorf("[%s] %s is %q: %s", row.group, row.option, got, row.reason)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d files were found", found)
	}
}
