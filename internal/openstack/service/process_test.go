package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestInbound checks that only the intended clients have access to a process, and other pods of its namespace have not.
func TestInbound(t *testing.T) {
	ports := []int32{6080}
	at := func(kind string, namespaces ...common.NamespaceName) *common.ServiceExposure {
		return &common.ServiceExposure{Exposure: common.Exposure{Type: kind, AllowedNamespaces: namespaces}}
	}
	for name, tc := range map[string]struct {
		reason  string
		process Process
		want    []workload.Flow
	}{
		"no client":   {"No client is configured.", Process{}, nil},
		"not exposed": {"The claim disables the exposure.", Process{Exposure: at(exposure.None, "gateways")}, nil},
		"exposed": {
			"Users come by the gateway.", Process{Exposure: at(exposure.GatewayAPI, "gateways")},
			[]workload.Flow{{Namespaces: []string{"gateways"}, Ports: ports}},
		},
		"anywhere": {
			"The namespace of the gateway is unknown.", Process{Exposure: at(exposure.GatewayAPI)}, []workload.Flow{{Anywhere: true, Ports: ports}},
		},
		"clients": {
			"They are outside of the cluster.", Process{IngressFrom: []string{"10.0.0.0/24"}}, []workload.Flow{{Blocks: []string{"10.0.0.0/24"}, Ports: ports}},
		},
	} {
		tc.process.Port = 6080
		if diff := cmp.Diff(tc.want, tc.process.inbound()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
