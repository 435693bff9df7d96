package ovn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestExternal verifies that the status and the certificate have the addresses that the members' Services have received so far.
func TestExternal(t *testing.T) {
	balancer := common.MemberExposure{Type: common.ExposureLoadBalancer}
	ports := common.MemberExposure{Type: common.ExposureNodePort, Nodes: "nodes.example.com"}
	ingress := func(field, value string) map[string]any {
		return map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{field: value}}}}}
	}
	nodePort := func(n int) map[string]any {
		return map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": 6642, "nodePort": n}}}}
	}
	for name, tc := range map[string]struct {
		reason         string
		exposure       *common.MemberExposure
		services       map[string]map[string]any
		want           string
		hosts          []string
		memberServices int
	}{
		"Inside": {reason: "They have no external clients."},
		"None":   {reason: "It is disabled explicitly.", exposure: &common.MemberExposure{Type: common.ExposureNone}},
		"New":    {reason: "There are no Services yet.", exposure: &balancer, memberServices: 3},
		"Some": {
			reason: "One has no address yet.", exposure: &balancer, memberServices: 3,
			services: map[string]map[string]any{
				"southbound-0-service": ingress("ip", "192.0.2.1"), "southbound-1-service": {}, "southbound-2-service": ingress("hostname", "c.example.com"),
			},
			want: "ssl:192.0.2.1:6642,ssl:c.example.com:6642", hosts: []string{"192.0.2.1", "c.example.com"},
		},
		"IPv6": {
			reason: "Its colons are not the port's.", exposure: &balancer, memberServices: 3,
			services: map[string]map[string]any{"southbound-0-service": ingress("ip", "2001:db8::1")},
			want:     "ssl:[2001:db8::1]:6642", hosts: []string{"2001:db8::1"},
		},
		"Ports": {
			reason: "Nodes have one name, and each member a port.", exposure: &ports, memberServices: 3,
			services: map[string]map[string]any{"southbound-0-service": nodePort(30001), "southbound-2-service": nodePort(30003)},
			want:     "ssl:nodes.example.com:30001,ssl:nodes.example.com:30003", hosts: []string{"nodes.example.com"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]encoded.Struct{}
			for resource, o := range tc.services {
				o["apiVersion"], o["kind"] = "v1", "Service"
				e, err := encode.Struct(o)
				if err != nil {
					t.Fatal(err)
				}
				all[resource] = e
			}
			observed, err := observe.New(all)
			if err != nil {
				t.Fatal(err)
			}
			in := function.Input[ovnv1.OVNCluster]{Observed: observed}
			in.XR.Name, in.XR.Namespace = ovnv1.Name, "cloud"
			in.XR.Spec.Southbound = ovnv1.Southbound{Members: members(3, ""), Exposure: tc.exposure}
			function.SetDefaults(&in.XR)
			m, err := derive(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.south.status().ExternalEndpoint; got != tc.want || len(m.south.memberServices) != tc.memberServices {
				t.Errorf("%s %q at %d Services, want %q at %d", tc.reason, got, len(m.south.memberServices), tc.want, tc.memberServices)
			}
			if diff := cmp.Diff(tc.hosts, m.south.names()[maxMembers:], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s The certificate's hosts (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRetainsServiceOfLeavingMember verifies that the Service of a leaving member is retained until its pod is deleted, because nodes still
// read from it.
func TestRetainsServiceOfLeavingMember(t *testing.T) {
	s := observation{pods: 5, configured: 5, id: "618fd7fb-82e8-49fc-90d9-73be342a6e86"}
	d := derived(t, 3, s).north
	if got := len(d.buildMemberServices(&common.MemberExposure{Type: common.ExposureLoadBalancer}, s.observed(t))); got != 5 {
		t.Errorf("%d Services, want one for each of 5 pods", got)
	}
}

// TestNodes_RejectsSettings verifies that settings which the schema rejects are rejected by the function, too.
func TestNodes_RejectsSettings(t *testing.T) {
	in := function.Input[ovnv1.OVNCluster]{}
	in.XR.Spec.Southbound.Exposure = &common.MemberExposure{Type: common.ExposureNodePort}
	function.SetDefaults(&in.XR)
	if _, err := derive(in); err == nil || !strings.Contains(err.Error(), "spec.southbound.exposure.nodes: ") {
		t.Error(err)
	}
}
