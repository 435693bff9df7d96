package composed

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// open lists reviewed egress rules to any address.
var open = []struct{ reason, policy, ports string }{
	{"Names are resolved by servers whose addresses are unknown.", `.*`, "53/UDP 53/TCP"},
	{"The API server has an address outside of the pods' network.", `companion|mariadb.*|rabbitmq.*|hypervisor-operator|kvm-node-agent|labels-injector`, "443/TCP 6443/TCP"},
	{"The claim sets an object store by its name.", `glance|cinder-backup|operator-jobs`, "443/TCP"},
	{"The claim sets an external Keystone by its name.", `placement|glance`, "443/TCP"},
	{"The claim sets an identity provider by its name.", `keystone`, "443/TCP"},
	{"The claim sets LDAP servers by their names.", `keystone`, "443/TCP 636/TCP"},
	{"The claim sets a Vault by its name.", `barbican|barbican-worker`, "8200/TCP"},
}

// openEgress returns rules of a NetworkPolicy that let pods reach any address, or whole address families without the private networks.
func openEgress(o object) []string {
	var out []string
	for _, e := range list(o.at("spec", "egress")) {
		var ports []string
		for _, p := range list(at(e, "ports")) {
			ports = append(ports, fmt.Sprintf("%v/%v", at(p, "port"), at(p, "protocol")))
		}
		peers := list(at(e, "to"))
		wide := len(peers) == 0
		for _, p := range peers {
			cidr, _ := at(p, "ipBlock", "cidr").(string)
			if strings.HasSuffix(cidr, "/0") && len(list(at(p, "ipBlock", "except"))) < 4 {
				wide = true
			}
		}
		if wide {
			out = append(out, strings.Join(ports, " "))
		}
	}
	return out
}

func TestEgressToAnyAddressIsReviewed(t *testing.T) {
	seen := 0
	for _, c := range append(clouds(t), example(t, "controlplane/full.yaml", "")) {
		for _, o := range c.objects {
			if o.Kind != "NetworkPolicy" {
				continue
			}
			for _, ports := range openEgress(o) {
				seen++
				if !slices.ContainsFunc(open, func(r struct{ reason, policy, ports string }) bool {
					return r.ports == ports && regexp.MustCompile("^(?:"+r.policy+")$").MatchString(o.Name)
				}) {
					t.Errorf("%s: %s lets pods reach any address on %q; exclude private networks, or add it to the reviewed list", c.name, o, ports)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d rules were found", seen)
	}
}
