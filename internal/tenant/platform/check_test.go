package platform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
)

// TestCheck checks values that a definition accepts, and that Kubernetes would reject in an object of a claim or that allow
// nothing.
func TestCheck(t *testing.T) {
	const limits = "limits: [{name: a, namespaces: [a], "
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"nothing": {reason: "All have defaults.", spec: "{}"},
		"everything": {
			reason: "A claim can match each of these.",
			spec: limits + `secretStores: ["*", "SecretStore/*", "*Store/x", "ClusterSecretStore/vault/{namespace}"], issuers: [ClusterIssuer/a, "*"], gateways: ["*", "gateway-system/public"], ` +
				`tolerations: ["dedicated=openstack", "dedicated=openstack:NoSchedule", "*", "dedicated=a:*"], storageDevices: ["nvme*", "disk/by-id/nvme-*"], hypervisorAgents: ["*", kvmNodeAgent], ` +
				`s3Endpoints: ["*", "s3.example.com:443", "[fd00::1]:443", "[fd00::1]"], registries: ["*", "ghcr.io/c5c3", "localhost:5000/a"], maxima: {storage: 500Gi, cpu: "1", memory: 1Gi}}]`,
		},
		"label":              {"No object of Prometheus takes it.", `monitoring: {labels: {a/b/c: x}}`, `spec.monitoring.labels: "a/b/c" is not the key of a label: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key`},
		"annotation":         {"No Ingress takes it.", `exposure: {type: Ingress, annotations: {a/b/c: x}}`, `spec.exposure.annotations: "a/b/c" is not the key of an annotation: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key`},
		"selector":           {"No pod takes it.", `companion: {nodeSelector: {a/b/c: x}}`, `spec.companion.nodeSelector: "a/b/c" is not the key of a label: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key`},
		"toleration":         {"No pod takes it.", `companion: {tolerations: [{key: a b, operator: Exists}]}`, `spec.companion.tolerations[0].key: "a b" is not the key of a taint: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key`},
		"companion":          {"It does not start.", `companion: {resources: {limits: {memory: 1Mi}}}`, "spec.companion.resources.limits.memory: must be at least 32Mi for the companion, not 1Mi: the controller needs as much to start; set 32Mi or more, or remove the field"},
		"registry":           {"There is no such port.", `images: {registry: "ghcr.io:99999/a"}`, "spec.images.registry: there is no port 99999; set one from 1 to 65535, or none for 443"},
		"store without kind": {"Claims compare kind and name.", limits + "secretStores: [vault]}]", `spec.limits[0].secretStores[0]: "vault" allows nothing: it must be <kind>/<name>, where the kind is SecretStore or ClusterSecretStore; write ClusterSecretStore/vault`},
		"issuer of no kind":  {"There is no such kind.", limits + "issuers: [Isuer/a]}]", `spec.limits[0].issuers[0]: "Isuer/a" allows nothing: it must be <kind>/<name>, where the kind is Issuer or ClusterIssuer; write ClusterIssuer/a`},
		"gateway":            {"Claims compare namespace and name.", limits + "gateways: [public]}]", `spec.limits[0].gateways[0]: "public" allows nothing: it must be <namespace>/<name>; write the Gateway's namespace before it`},
		"effect":             {"No taint has it.", limits + "tolerations: [dedicated=a:NoSchedul]}]", `spec.limits[0].tolerations[0]: "dedicated=a:NoSchedul" allows nothing: taints have no effect NoSchedul; set NoSchedule, PreferNoSchedule or NoExecute, or remove it`},
		"device":             {"Claims compare it without.", limits + "storageDevices: [/dev/sd*]}]", `spec.limits[0].storageDevices[0]: "/dev/sd*" allows nothing: devices are compared without /dev/; write sd*`},
		"agent":              {"No such agent exists.", limits + "hypervisorAgents: [kvmNodeAgnt]}]", `spec.limits[0].hypervisorAgents[0]: "kvmNodeAgnt" allows nothing: there is no such agent; choose from kvmNodeAgent`},
		"port":               {"No such port exists.", limits + "s3Endpoints: [s3.example.com:99999]}]", `spec.limits[0].s3Endpoints[0]: "s3.example.com:99999" allows nothing: there is no port 99999; set one from 1 to 65535, or none for all`},
		"IPv6":               {"It is an IPv4 address.", limits + `databaseHosts: ["[10.0.0.1]:3306"]}]`, `spec.limits[0].databaseHosts[0]: "[10.0.0.1]:3306" allows nothing: there is no IPv6 address in the brackets; correct it`},
		"maxima": {
			"Every claim costs more.", limits + `maxima: {storage: "0", cpu: "-1", memory: -1Gi}}]`,
			"spec.limits[0].maxima.storage: 0 refuses every claim; set an amount above 0, such as 500Gi, or remove the field for the default\n" +
				"spec.limits[0].maxima.cpu: -1 refuses every claim; set an amount above 0, such as 16, or remove the field for the default\n" +
				"spec.limits[0].maxima.memory: -1Gi refuses every claim; set an amount above 0, such as 32Gi, or remove the field for the default",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := platformv1.PlatformConfigSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Check(&spec); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
