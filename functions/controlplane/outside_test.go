package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// exposing returns a claim whose queue is exposed.
func exposing(exposure string) string {
	return "{infrastructure: {rabbitmq: {exposure: {" + exposure + "}}}}"
}

// TestQueueExposureOpensOnlyAMQP checks that other clusters can connect only to the AMQP port, with a host name that the certificate
// contains once it is assigned, and only from the networks of the claim. No component waits for the address.
func TestQueueExposureOpensOnlyAMQP(t *testing.T) {
	platform := `{domain: example.com, limits: [{name: all, namespaces: ["*"], hypervisorNetworks: ["*"], annotations: ["*"]}]}`
	const balancer = "type: LoadBalancer, networks: [10.20.0.0/16], annotations: {example.com/pool: nodes}"
	for name, tc := range map[string]struct {
		reason, spec string
		address      map[string]any
		want         any
		hosts        []any
		from         []any
	}{
		"None": {reason: "It is not exposed.", spec: "{}"},
		"Off":  {reason: "The claim disables it.", spec: exposing("type: None")},
		"Balanced": {
			reason: "Without an address, the certificate is unchanged, and the queue is created.", spec: exposing(balancer),
			address: map[string]any{"status": map[string]any{"loadBalancer": map[string]any{}}},
			want: map[string]any{
				"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": []any{"10.20.0.0/16"},
				"selector": map[string]any{"app.kubernetes.io/name": "rabbitmq"},
				"ports":    []any{map[string]any{"name": "amqps", "port": 5671.0, "targetPort": 5671.0, "protocol": "TCP"}},
			},
			from: []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.20.0.0/16"}}},
		},
		"Addressed": {
			reason: "The certificate contains the address.", spec: exposing(balancer),
			address: fields(t, "{status: {loadBalancer: {ingress: [{ip: 192.0.2.7}]}}}"),
			want: map[string]any{
				"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": []any{"10.20.0.0/16"},
				"selector": map[string]any{"app.kubernetes.io/name": "rabbitmq"},
				"ports":    []any{map[string]any{"name": "amqps", "port": 5671.0, "targetPort": 5671.0, "protocol": "TCP"}},
			},
			hosts: []any{"192.0.2.7"},
			from:  []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.20.0.0/16"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, tc.spec, platform)
			if tc.address != nil {
				service := w.Observed["messaging-external-service"].Map()
				service["status"] = tc.address["status"]
				w.Observed["messaging-external-service"] = encoded.Of(structOf(t, service))
			}
			all := desired(t, w)
			if diff := cmp.Diff(tc.want, at(all["messaging-external-service"].Map(), "spec")); diff != "" {
				t.Errorf("%s\nthe Service (-want +got):\n%s", tc.reason, diff)
			}
			var hosts []any
			if h, ok := at(all["messaging-certificate"].Map(), "spec", "ipAddresses").([]any); ok {
				hosts = h
			}
			if diff := cmp.Diff(tc.hosts, hosts); diff != "" {
				t.Errorf("%s\nthe certificate (-want +got):\n%s", tc.reason, diff)
			}
			var from []any
			rules, _ := at(all["rabbitmq-network-policy"].Map(), "spec", "ingress").([]any)
			for _, r := range rules {
				entries, _ := at(r.(map[string]any), "from").([]any)
				for _, p := range entries {
					if _, block := p.(map[string]any)["ipBlock"]; block {
						from = append(from, p)
					}
				}
			}
			if diff := cmp.Diff(tc.from, from); diff != "" {
				t.Errorf("%s\nallowed networks (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestQueueExposureValidation checks the errors for a NodePort without nodes, and for networks that a pool must not use.
func TestQueueExposureValidation(t *testing.T) {
	for name, tc := range map[string]struct{ spec, platform, field, message string }{
		"nodes": {
			exposing("type: NodePort"), `{domain: example.com, limits: [{name: all, namespaces: ["*"], hypervisorNetworks: ["*"]}]}`,
			"spec.infrastructure.rabbitmq.exposure.nodes", "ports of nodes alone are no address",
		},
		"any network": {exposing("type: LoadBalancer"), "{domain: example.com}", "spec.infrastructure.rabbitmq.exposure.networks", ""},
		"networks":    {exposing("type: LoadBalancer, networks: [10.0.0.0/8]"), "{domain: example.com}", "spec.infrastructure.rabbitmq.exposure.networks", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, tc.spec, tc.platform, map[string]*structpb.Struct{}))
			if err == nil || !strings.Contains(err.Error(), tc.field+": ") || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("error %v, want one about %s with %q", err, tc.field, tc.message)
			}
		})
	}
}
