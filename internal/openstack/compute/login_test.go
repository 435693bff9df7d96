package compute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLogins checks that callers of services which validate the token of [service_user] have a login for it, and no egress
// to other services.
func TestLogins(t *testing.T) {
	for name, tc := range map[string]struct {
		services, logins []string
		ports            []int32
	}{
		"conductors and the API": {APIEndpoints(), []string{"service_user", "placement", "neutron", "cinder"}, []int32{8776, 8778, 9292, 9696}},
		"the scheduler":          {SchedulerEndpoints(), []string{"service_user", "placement", "neutron"}, []int32{8778, 9696}},
		"the check":              {UpgradeCheckEndpoints(), []string{"service_user", "placement", "cinder"}, []int32{8776, 8778}},
		"metadata":               {metadataEndpoints(), []string{"service_user", "neutron"}, []int32{9696}},
		"Placement alone":        {[]string{"placement"}, []string{"placement"}, []int32{8778}},
	} {
		if diff := cmp.Diff(tc.logins, Logins(tc.services)); diff != "" {
			t.Errorf("%s: logins (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.ports, EndpointFlow(tc.services).Ports); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}
	}
}
