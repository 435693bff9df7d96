package apis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// complete returns the CRD of a folder's complete definition: of the claim, if it has one.
func complete(t testing.TB, folder string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	xrd, err := schema.ParseXRD(completeDefinition(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	generated := schema.CompositeCRD
	if xrd.Spec.ClaimNames != nil {
		generated = schema.ClaimCRD
	}
	crd, err := generated(xrd)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

func completeDefinition(t testing.TB, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "hack", "xrd", "testdata", folder+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// differOnlyByUnimplemented reports whether two rules are the same rule with and without unimplemented fields.
func differOnlyByUnimplemented(a, b string) bool {
	return strings.Contains(a, "false") || strings.Contains(b, "false")
}

// TestUnimplemented checks that a definition has no unimplemented fields, and that an API server and kubectl accept the complete one.
func TestUnimplemented(t *testing.T) {
	// kubectl apply stores the applied object in an annotation, and all annotations of an object may have 262,144 bytes together. The
	// installed definition is far smaller (hack/xrd); shorten descriptions before you add the next large field.
	const most = 260_000
	for folder := range unimplementedCases {
		crd := complete(t, folder)
		kind := crd.Spec.Names.Kind
		if err := schema.CheckCRD(crd); err != nil {
			t.Errorf("%s with everything: %v", kind, err)
		}
		asJSON, err := yaml.YAMLToJSON(completeDefinition(t, folder))
		if err != nil {
			t.Fatal(err)
		}
		if len(asJSON) > most {
			t.Errorf("%s with everything has %d bytes, want %d at most", kind, len(asJSON), most)
		}
		all, built := fields(crd), fields(crds(t)[kind])
		for _, path := range apis.Unimplemented(kind) {
			if !all[path] || built[path] {
				t.Errorf("%s: %s exists in the complete definition: %v, and in the installed one: %v", kind, path, all[path], built[path])
			}
		}
		for path := range all {
			if !built[path] && !below(path, apis.Unimplemented(kind)) {
				t.Errorf("%s: %s is missing in the installed definition and in apis/unimplemented.go", kind, path)
			}
		}
	}
}

// fields returns the paths of all fields of a kind.
func fields(crd *apiextensionsv1.CustomResourceDefinition) map[string]bool {
	out := map[string]bool{}
	walk("", *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, _ apiextensionsv1.JSONSchemaProps, _ bool) bool {
		out[strings.TrimPrefix(path, ".")] = true
		return true
	})
	return out
}

func below(path string, roots []string) bool {
	for _, r := range roots {
		if rest, ok := strings.CutPrefix(path, r); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			return true
		}
	}
	return false
}

func TestIsUnimplemented(t *testing.T) {
	for field, want := range map[string]bool{
		"spec.services.cinder": false, "spec.cortex": true, "spec.services.neutron.ovn.relay": false, "spec.services.neutron": false, "spec.services.cinder.backends[12].ceph": false, "spec.services.neutron.api": false, "spec.services.keystone": false, "": false,
	} {
		if diff := cmp.Diff(want, apis.IsUnimplemented("ControlPlaneCluster", field)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", field, diff)
		}
	}
	if apis.IsUnimplemented("HypervisorCluster", "spec.pciDevices[12].physicalNetwork") || !apis.IsUnimplemented("HypervisorCluster", "spec.agents.haAgent") {
		t.Error("a pool has network cards, and no HA agent")
	}
	if apis.IsUnimplemented("Keystone", "spec.cortex") {
		t.Error("a Keystone has no Cortex")
	}
}

// unimplementedCases are specs that only a complete definition accepts, by folder.
var unimplementedCases = map[string]kindCases{
	"hypervisor": hypervisorUnimplementedCases,
	"storage":    storageUnimplementedCases,
	"controlplane": {
		base: `openStackRelease: "2025.2"`,
		cases: map[string]specCase{
			"Seed": {
				reason: "The example of CobaltCore's control plane, without the platform's fields.",
				spec: `
infrastructure:
  mariadb: {replicas: 3, storageSize: 100Gi, storageClass: ceph-rbd}
  rabbitmq: {replicas: 3, storageSize: 20Gi}
  valkey: {replicas: 3, sentinel: {enabled: true}}
  memcached: {replicas: 3, memory: 1Gi}
services:
  keystone: {enabled: true, replicas: 3}
  glance: {enabled: true, replicas: 2, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]}
  placement: {enabled: true, replicas: 2}
  nova: {enabled: true, api: {replicas: 3}, scheduler: {replicas: 2}, conductor: {replicas: 2}, cells: [{name: cell1}]}
  neutron: {enabled: true, api: {replicas: 3}, ml2: {typeDrivers: [geneve, vlan, flat], tenantNetworkTypes: [geneve], extensionDrivers: [port_security]}}
  cinder:
    enabled: true
    api: {replicas: 2}
    scheduler: {replicas: 2}
    backends: [{name: ceph-rbd, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}]
    defaultVolumeType: ceph-rbd
cortex: {enabled: false, replicas: 2}
tempest: {enabled: false, schedule: "0 2 * * *", tests: {services: [compute], concurrency: 4, includeRegex: "tempest\\.(api|scenario)"}}
korc: {enabled: true, bootstrapResources: [domains, projects]}
global: {region: RegionOne, tls: {enabled: true, issuerRef: {name: letsencrypt-prod, kind: ClusterIssuer}}, monitoring: {enabled: true}}`,
			},
			"Dedicated": {
				reason: "A cluster of one's own.",
				spec:   `cluster: {gardener: {region: eu}}`,
			},
			"CPUs": {
				reason: "Whole cores need no quotes.",
				spec:   `services: {heat: {api: {cpu: 2, memory: 1Gi}, engine: {cpu: 500m}, cfn: {cpu: "0.25", hostname: cfn.example.com}}}`,
			},
			"NoCPU": {
				reason:  "No process runs without a processor.",
				spec:    `services: {heat: {api: {cpu: 0}}}`,
				field:   "spec.services.heat.api.cpu",
				message: "must be more than 0 cores, such as 500m or 2",
			},
			"CPUUnit": {
				reason:  "Mi is a unit of bytes.",
				spec:    `services: {heat: {api: {cpu: 500Mi}}}`,
				field:   "spec.services.heat.api.cpu",
				message: "must be more than 0 cores, such as 500m or 2",
			},
			"MemoryWithoutUnit": {
				reason:  "512 bytes are never meant.",
				spec:    `services: {heat: {api: {memory: "512"}}}`,
				field:   "spec.services.heat.api.memory",
				message: "should match",
			},
			"GaleraPointInTime": {
				reason:  "The operator restores to a point in time with replication only.",
				spec:    `infrastructure: {mariadb: {replicas: 3, backup: {pointInTimeRecovery: true, s3: {bucket: abc, endpoint: s3.example.com, credentialsSecretRef: {name: s3}}}}}`,
				field:   "spec.infrastructure.mariadb",
				message: "backup.pointInTimeRecovery does not work with Galera (replicas above 1); use replicas 1, or schedule backups more often",
			},
			"Cells": {
				reason: "Each cell may have its own settings.",
				spec: `
services:
  nova:
    metadata: {perCell: true, replicas: 2}
    consoles: {graphical: SPICE, serial: true}
    scheduler: {externalScheduler: {enabled: true, endpoint: https://cortex.example.com}}
    quotas: {instances: -1, cores: 100, memoryMiB: 65536}
    cells:
    - name: cell1
      consoles: {hostname: vnc.example.com, serialHostname: serial.example.com}
    - name: cell2
      disabled: true
      conductor: {replicas: 4}
      infrastructure: {mariadb: {replicas: 3, storageSize: 50Gi}, rabbitmq: {replicas: 3, memory: 2Gi}}`,
			},
			"Networks": {
				reason: "All of it.",
				spec: `
services:
  neutron:
    ml2:
      typeDrivers: [geneve, vlan, flat]
      tenantNetworkTypes: [geneve, vlan]
      physicalNetworks: [{name: physnet1, flat: true, vlanRanges: ["100:199", "300:399"], mtu: 9000}]
      mtu: 9000
      vniRange: "1:65536"
    dnsServers: [10.0.0.53, "fd00::53"]
    servicePlugins: [ovn-router, qos]
    ovn:
      northbound: {replicas: 3, storageSize: 10Gi, storageClass: local-path, memory: 512Mi, cpu: 250m}
      southbound: {replicas: 3, exposure: {type: LoadBalancer, networks: [10.0.0.0/8]}}
      northd: {replicas: 2}
      relay: {replicas: 3}
      ovnImage: {tag: 24.03.4}
infrastructure: {rabbitmq: {exposure: {type: NodePort, nodes: nodes.example.com}}}`,
			},
			"Rest": {
				reason: "The scheduler.",
				spec: `
cortex:
  database: {secretRef: {name: postgres}}
  pipelines: {nova: {enabled: true, filters: [{name: AvailabilityZoneFilter}], weighers: [{name: RAMWeigher, weightPercent: -50}]}}
  datasources: {prometheus: {enabled: true, endpoint: http://prometheus.monitoring:9090}}`,
			},
		},
	},
}
