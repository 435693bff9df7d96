package composed

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An address of IPv4; a list of memcached servers in a file of a service whose client is python-memcached; a listener of uWSGI, which
// without an address accepts IPv4 only; and the family of Neutron's tunnels.
var (
	ipv4         = regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)
	cacheServers = regexp.MustCompile(`^memcached?_servers = (.*)$`)
	uwsgiSocket  = regexp.MustCompile(`^https?-socket = :`)
	tunnels      = regexp.MustCompile(`^overlay_ip_version = 6$`)
)

// withIPv6 are the fields of third-party objects without which the program of an operator listens at, or connects to, IPv4 only.
var withIPv6 = map[string][]string{
	"RabbitmqCluster": {"{inet6, true}.\n{tcp, inet6_tcp}.\n", "spec", "rabbitmq", "erlangInetConfig"},
	"CephCluster":     {"IPv6", "spec", "network", "ipFamily"},
	"MaxScale":        {"::", "spec", "config", "params", "admin_host"},
}

// usesIPv4 are lines of composed objects that contain an address of IPv4 in any cluster, with the reason.
var usesIPv4 = map[string]*regexp.Regexp{
	"The loopback address exists in each pod.":            regexp.MustCompile(`127\.0\.0\.1:`),
	"dnsmasq gets both unspecified addresses.":            regexp.MustCompile(`^dns_servers = 0\.0\.0\.0,::$`),
	"Tempest creates a network in the tested cloud.":      regexp.MustCompile(`create_subnet\(.*ip_version=4`),
	"The simulated operators report addresses for tests.": regexp.MustCompile(`\b192\.0\.2\.[0-9]+\b`),
	"Another claim of the example sets the network.":      regexp.MustCompile(`^10\.(0\.1|20\.0)\.0/(16|24)$`),
}

// TestObjectsUseConfiguredIPFamily composes the claims of all examples for clusters with IPv6. No program may listen on, or connect to, an
// address of IPv4, except addresses of its claim and of the table; python-memcached gets a prefix, without which it opens a socket of IPv4,
// and members of RabbitMQ and Ceph listen at IPv6.
func TestObjectsUseConfiguredIPFamily(t *testing.T) {
	allowed, families := map[string]bool{}, map[string]int{}
	for file, c := range composeExamples(t, "ipFamily: IPv6", 5, func(map[string]any) {}) {
		for _, o := range c.objects {
			eachLine(o.manifest, func(line string) {
				for _, a := range ipv4.FindAllString(line, -1) {
					reason := ""
					for r, pattern := range usesIPv4 {
						if pattern.MatchString(line) {
							reason = r
						}
					}
					allowed[reason] = true
					if reason == "" && !strings.Contains(string(c.claim), a) {
						t.Errorf("%s: %s has an address of IPv4: %s", file, o, line)
					}
				}
				if uwsgiSocket.MatchString(line) {
					t.Errorf("%s: %s listens at IPv4: %s", file, o, line)
				}
				if tunnels.MatchString(line) {
					families["tunnels"]++
				}
				if m := cacheServers.FindStringSubmatch(line); m != nil {
					families["cache"]++
					for server := range strings.SplitSeq(m[1], ",") {
						if !strings.HasPrefix(server, "inet6:[") {
							t.Errorf("%s: %s connects to a cache at IPv4: %s", file, o, line)
						}
					}
				}
			})
			want, known := withIPv6[o.Kind]
			if !known || hasIPv4Networks(o.manifest) {
				continue
			}
			families[o.Kind]++
			if got := at(o.manifest, want[1:]...); got != want[0] {
				t.Errorf("%s: %s of %s is %v, want %s", file, strings.Join(want[1:], "."), o, got, want[0])
			}
		}
	}
	// A subject that no example has was not tested.
	for _, subject := range []string{"cache", "RabbitmqCluster"} {
		if families[subject] == 0 {
			t.Errorf("no example has a %s", subject)
		}
	}
	t.Logf("%v; used reasons: %v", families, slices.Sorted(maps.Keys(allowed)))
}

// hasIPv4Networks reports whether the claim of a CephCluster names networks of IPv4.
func hasIPv4Networks(ceph map[string]any) bool {
	return ipv4.MatchString(fmt.Sprint(at(ceph, "spec", "network", "addressRanges")))
}

// eachLine calls visit with each line of each text in a value.
func eachLine(value any, visit func(line string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachLine(v[k], visit)
		}
	case []any:
		for _, e := range v {
			eachLine(e, visit)
		}
	case string:
		for line := range strings.SplitSeq(v, "\n") {
			visit(line)
		}
	}
}
