package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/workload"
)

// TestInbound: who may reach the API, whatever brings it to the outside.
func TestInbound(t *testing.T) {
	ports := []int32{apiPort}
	for name, tc := range map[string]struct {
		reason   string
		exposure map[string]any
		want     []workload.Flow
	}{
		"NotExposed": {"Nobody knows where users come from.", nil, []workload.Flow{{Anywhere: true, Ports: ports}}},
		"Open": {
			"The controller may be anywhere.", map[string]any{"type": "Ingress", "hostname": "a.example.com"},
			[]workload.Flow{{Anywhere: true, Ports: ports}},
		},
		"Closed": {
			"Beside the controller, K-ORC logs in, from its own namespace: without it there is no catalog.",
			map[string]any{"type": "Ingress", "hostname": "a.example.com", "allowedNamespaces": []any{"ingress"}},
			[]workload.Flow{{Ports: ports}, {Namespaces: []string{"ingress"}, Ports: ports}, {Namespaces: []string{"orc-system"}, Ports: ports}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(map[string]any)
			if tc.exposure != nil {
				changes = append(changes, set(tc.exposure, "exposure"))
			}
			if diff := cmp.Diff(tc.want, derived(t, xr(t, "small", changes...)).inbound()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
