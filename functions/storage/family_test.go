package storage

import (
	"fmt"
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
		"platform cluster": {"Another cluster of the platform has its own family.", "{}", "", "other", "IPv6"},
		"existing IPv4":    {"Monitors keep their addresses.", "{}", "{kind: CephCluster}", "IPv6", ""},
		"existing IPv6":    {"Monitors keep their addresses.", "{}", "{spec: {network: {ipFamily: IPv6}}}", "IPv4", "IPv6"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{platform: &platformv1.PlatformConfigSpec{IPFamily: tc.platform}, cluster: "in-cluster"}
			if tc.platform == "other" {
				m.cluster = "remote"
				m.platform = &platformv1.PlatformConfigSpec{IPFamily: "IPv4", Clusters: []platformv1.Cluster{{ProviderConfig: "remote", IPFamily: common.IPv6}}}
			}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &m.spec); err != nil {
				t.Fatal(err)
			}
			m.observed = observedCeph(t, tc.observed)
			if got := m.cephFamily(); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestFamilyOfExistingCluster verifies that an edit of the networks does not change the family of a running cluster.
func TestFamilyOfExistingCluster(t *testing.T) {
	const message = "spec.network: the Ceph cluster listens at addresses of %s, and its monitors keep their addresses; use networks of %[1]s, or create another claim"
	for name, tc := range map[string]struct{ reason, spec, observed, want string }{
		"new":              {"It has no addresses yet.", "{network: {publicCIDRs: ['fd00::/64']}}", "", ""},
		"IPv4 to IPv6":     {"Ceph's default is IPv4.", "{network: {publicCIDRs: ['fd00::/64']}}", "{kind: CephCluster}", fmt.Sprintf(message, "IPv4")},
		"IPv6 to IPv4":     {"The pods have IPv6 addresses.", "{network: {publicCIDRs: [10.0.0.0/24]}}", "{spec: {network: {ipFamily: IPv6}}}", fmt.Sprintf(message, "IPv6")},
		"same family":      {"More networks of the family.", "{network: {publicCIDRs: [10.0.0.0/24, 10.0.1.0/24]}}", "{spec: {network: {addressRanges: {public: [10.0.0.0/24]}}}}", ""},
		"without ipFamily": {"Earlier versions did not set it for IPv6 networks.", "{network: {publicCIDRs: ['fd00::/64']}}", "{spec: {network: {addressRanges: {public: ['fd00::/64']}}}}", ""},
		"no networks":      {"The cluster keeps its family.", "{}", "{spec: {network: {ipFamily: IPv6}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{observed: observedCeph(t, tc.observed)}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &m.spec); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := m.checkFamily(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

// observedCeph returns a state with a CephCluster. Empty: none.
func observedCeph(t *testing.T, text string) observe.State {
	t.Helper()
	objects := map[string]encoded.Struct{}
	if text != "" {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		body, err := encode.Struct(o)
		if err != nil {
			t.Fatal(err)
		}
		objects[clusterResource] = body
	}
	out, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
