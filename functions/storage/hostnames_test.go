package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// TestHostnamesRequireExposure verifies that a host name requires the platform's exposure, and must be allowed for the claim.
func TestHostnamesRequireExposure(t *testing.T) {
	const (
		gateway = ", exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}"
		all     = ", limits: [" + limittest.Everything + "]"
		nodes   = `{name: nodes, namespaces: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageNetworks: ["*"]%s}`
	)
	limits := func(domains string) string { return ", limits: [" + fmt.Sprintf(nodes, domains) + "]" }
	for name, tc := range map[string]struct{ reason, host, platform, field, message string }{
		"Own":       {"It is below the namespace's domain.", "s3.tenant-a.example.com", gateway + limits(""), "", ""},
		"Others":    {"It is below another namespace's domain.", "s3.tenant-b.example.com", gateway + limits(""), "spec.objectStores[0].hostname", "is not a subdomain of tenant-a.example.com"},
		"Platform":  {"It is a name of the platform.", "keystone.example.com", gateway + limits(""), "spec.objectStores[0].hostname", "is not a subdomain of"},
		"Limit":     {"A limit allows it.", "s3.tenant-a.example.org", gateway + limits(`, domains: ["{namespace}.example.org"]`), "", ""},
		"Beside":    {"The domains of a limit replace the default.", "s3.tenant-a.example.com", gateway + limits(`, domains: ["{namespace}.example.org"]`), "spec.objectStores[0].hostname", "is not in the domains"},
		"NoGateway": {"It would not be served.", "s3.tenant-a.example.com", all, "spec.objectStores[0].hostname", "the platform does not expose services"},
		"None":      {"Exposure is disabled.", "s3.tenant-a.example.com", ", exposure: {type: None}" + all, "spec.objectStores[0].hostname", "the platform does not expose services"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(with("objectStores: [{name: objects, hostname: "+tc.host+"}]"), "{domain: example.com"+tc.platform+"}")
			wantError(t, tc.reason, makeReady(w), tc.field, tc.message)
		})
	}
	duplicate := newCluster(with("objectStores: [{name: a, hostname: s.example.com}, {name: b, hostname: s.example.com}]"), open)
	wantError(t, "A request goes to one of them.", makeReady(duplicate), "spec.objectStores[1].hostname", "object store a has this host name already")
}

// TestExposed verifies the external route to an object store, and the published address.
func TestExposed(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, platform, host string
		want                   []string
		endpoint               any
	}{
		"Inside":  {"It has no host name.", "exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}", "", nil, nil},
		"Gateway": {"By a Gateway.", "exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}", "s3.example.com", []string{"backend-policy-objects", "route-objects"}, "https://s3.example.com"},
		"Ingress": {
			"By an Ingress, whose certificate is ordered.", "exposure: {type: Ingress}, tls: {issuerRef: {name: letsencrypt}}", "s3.example.com",
			[]string{"ingress-objects", "public-certificate-objects"}, "https://s3.example.com",
		},
		"Plain": {"The platform has no TLS.", "exposure: {type: Ingress}, tls: {enabled: false, issuerRef: {name: letsencrypt}}", "s3.example.com", []string{"ingress-objects"}, "http://s3.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			host := ""
			if tc.host != "" {
				host = ", hostname: " + tc.host
			}
			w := newCluster(with("objectStores: [{name: objects"+host+"}]"), "{domain: example.com, "+tc.platform+", limits: ["+limittest.Everything+"]}")
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			var got []string
			for resource := range kind.Desired(t, w) {
				for _, prefix := range []string{"route-", "backend-policy-", "ingress-", "public-certificate-"} {
					if strings.HasPrefix(resource, prefix) {
						got = append(got, resource)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			status := w.XR.GetFields()["status"].GetStructValue().AsMap()
			if got := status["objectStores"].([]any)[0].(map[string]any)["publicEndpoint"]; got != tc.endpoint {
				t.Errorf("%s\nthe published addresses are %v", tc.reason, got)
			}
		})
	}
}
