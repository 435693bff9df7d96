package storage

import (
	"testing"

	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestCephFamily verifies that daemons listen in the family of their networks, or of the pods, and that an existing cluster keeps its own.
func TestCephFamily(t *testing.T) {
	const ipv4, ipv6 = "{network: {publicCIDRs: [10.0.0.0/24]}}", "{network: {publicCIDRs: ['fd00::/64']}}"
	for name, tc := range map[string]struct {
		reason, spec, observed string
		platform               common.IPFamily
		want                   string
	}{
		"default":          {"Ceph listens at IPv4 by default.", "{}", "", "IPv4", ""},
		"IPv6 pods":        {"The pods have no other address.", "{}", "", "IPv6", "IPv6"},
		"IPv4 network":     {"Daemons listen in the network of the nodes.", ipv4, "", "IPv6", ""},
		"IPv6 network":     {"Without the family, Ceph finds no address in the network.", ipv6, "", "IPv4", "IPv6"},
		"IPv6 replication": {"The second network counts, too.", "{network: {clusterCIDRs: ['fd00::/64']}}", "", "IPv4", "IPv6"},
		"existing IPv4":    {"Monitors keep their addresses.", "{}", "{kind: CephCluster}", "IPv6", ""},
		"existing IPv6":    {"Monitors keep their addresses.", "{}", "{spec: {network: {ipFamily: IPv6}}}", "IPv4", "IPv6"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{platform: &platformv1.PlatformConfigSpec{IPFamily: tc.platform}}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &m.spec); err != nil {
				t.Fatal(err)
			}
			objects := map[string]encoded.Struct{}
			if tc.observed != "" {
				var o map[string]any
				if err := yaml.Unmarshal([]byte(tc.observed), &o); err != nil {
					t.Fatal(err)
				}
				body, err := encode.Struct(o)
				if err != nil {
					t.Fatal(err)
				}
				objects[clusterResource] = body
			}
			var err error
			if m.observed, err = observe.New(objects); err != nil {
				t.Fatal(err)
			}
			if got := m.cephFamily(); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
