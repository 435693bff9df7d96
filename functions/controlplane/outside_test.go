package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// exposing is a claim whose queue is exposed.
func exposing(exposure string) string {
	return "{infrastructure: {rabbitmq: {exposure: {" + exposure + "}}}}"
}

// TestQueueExposure: other clusters reach the queue at the port of AMQP alone, by a name that its certificate carries as soon as there is
// one, from the networks that the claim names. Nothing waits for that.
func TestQueueExposure(t *testing.T) {
	platform := `{domain: example.com, limits: [{name: all, namespaces: ["*"], hypervisorNetworks: ["*"], annotations: ["*"]}]}`
	const balancer = "type: LoadBalancer, networks: [10.20.0.0/16], annotations: {example.com/pool: nodes}"
	for name, tc := range map[string]struct {
		reason, spec string
		address      map[string]any
		want         any
		hosts        []any
		from         []any
	}{
		"None": {reason: "Nobody outside is to reach it.", spec: "{}"},
		"Off":  {reason: "It says so.", spec: exposing("type: None")},
		"Balanced": {
			reason: "Without an address the certificate is as it would be without, and the queue is there.", spec: exposing(balancer),
			address: map[string]any{"status": map[string]any{"loadBalancer": map[string]any{}}},
			want: map[string]any{
				"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": []any{"10.20.0.0/16"},
				"selector": map[string]any{"app.kubernetes.io/name": "rabbitmq"},
				"ports":    []any{map[string]any{"name": "amqps", "port": 5671.0, "targetPort": 5671.0, "protocol": "TCP"}},
			},
			from: []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.20.0.0/16"}}},
		},
		"Addressed": {
			reason: "The certificate has the address.", spec: exposing(balancer),
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
			w := ready(t, tc.spec, platform)
			if tc.address != nil {
				service := w.Observed[queueService].Map()
				service["status"] = tc.address["status"]
				w.Observed[queueService] = encoded.Of(structOf(t, service))
			}
			all := desired(t, w)
			if diff := cmp.Diff(tc.want, at(all[queueService].Map(), "spec")); diff != "" {
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
				peers, _ := at(r.(map[string]any), "from").([]any)
				for _, p := range peers {
					if _, block := p.(map[string]any)["ipBlock"]; block {
						from = append(from, p)
					}
				}
			}
			if diff := cmp.Diff(tc.from, from); diff != "" {
				t.Errorf("%s\nwho is let in (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestQueueExposureRefused: an address is none without nodes, and networks that a pool may not name are not opened either.
func TestQueueExposureRefused(t *testing.T) {
	for name, tc := range map[string]struct{ spec, platform, field, words string }{
		"nodes": {
			exposing("type: NodePort"), `{domain: example.com, limits: [{name: all, namespaces: ["*"], hypervisorNetworks: ["*"]}]}`,
			"spec.infrastructure.rabbitmq.exposure.nodes", "ports of nodes alone are no address",
		},
		"anybody":  {exposing("type: LoadBalancer"), "{domain: example.com}", "spec.infrastructure.rabbitmq.exposure.networks", ""},
		"networks": {exposing("type: LoadBalancer, networks: [10.0.0.0/8]"), "{domain: example.com}", "spec.infrastructure.rabbitmq.exposure.networks", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, tc.spec, tc.platform, map[string]*structpb.Struct{}))
			if err == nil || !strings.Contains(err.Error(), tc.field+": ") || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("error %v, want one about %s with %q", err, tc.field, tc.words)
			}
		})
	}
}
