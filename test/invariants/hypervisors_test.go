package invariants

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// hypervisorSettings apply to the specs of pools of hypervisors.
var hypervisorSettings = definedKind{
	fix: ofPool,
	own: map[string]constraint{
		"spec.memory": {}, "slices[].memory": {}, "allocationRatio": sample(int64(4), "1.5"), "reserved": sample("16Gi", "512Mi"),
		"bandwidthPerMigration": sample("125Mi", "1Gi"), "spec.storage": pools("vms"),
		"dedicatedSet": sample("4-31,^16", "5"), "sharedSet": sample("0-3", "^1,0-2"), "driver": sample("kvm", "qemu"), "cell": sample("cell1"), "novaCompute.config": computeOptions(),
	},
}

// ofPool adjusts a pool to the validation rules, with disjoint slices.
func ofPool(spec object) {
	spec["controlPlaneRef"] = object{"namespace": "tenant-a", "name": "cloud"}
	processors(spec)
	devices(spec)
	if labels, ok := spec["nodeSelector"].(object); ok {
		if delete(labels, "slice"); len(labels) == 0 {
			delete(spec, "nodeSelector")
		}
	}
	slices, _ := spec["slices"].(list)
	for i, s := range slices {
		s, _ := s.(object)
		s["name"] = fmt.Sprintf("s%d", i)
		s["nodeSelector"] = object{"slice": fmt.Sprint(i)}
		processors(s)
		devices(s)
		bridges(s)
	}
	bridges(spec)
	if agents, ok := spec["agents"].(object); ok {
		delete(agents, "neutron") // That is for a control plane without OVN.
	}
	virtualization, _ := spec["virtualization"].(object)
	if libvirt, _ := virtualization["libvirt"].(object); libvirt["mode"] == "Host" {
		delete(libvirt, "resources")
		delete(libvirt, "image")
		delete(virtualization, "liveMigration")
		delete(virtualization, "evictOnCordon")
		for _, of := range append(list{spec}, slices...) {
			networks, _ := of.(object)["networks"].(object)
			delete(networks, "liveMigration")
		}
	}
	if lifecycle, _ := spec["lifecycle"].(object); lifecycle["enabled"] == true {
		if lifecycle["credentialsSecretRef"] == nil {
			lifecycle["credentialsSecretRef"] = object{"name": ofTenant}
		}
		delete(virtualization, "evictOnCordon")
		for _, of := range append(list{spec}, slices...) {
			for _, field := range []string{"availabilityZone", "aggregates", "traits"} {
				delete(of.(object), field)
			}
		}
	}
	agentsOf(spec)
	if cluster, _ := spec["cluster"].(object); cluster != nil && cluster["ref"].(object)["name"] == "east" {
		inOtherCluster(spec)
	}
}

// agentsOf adds the settings that agents of a pool require.
func agentsOf(spec object) {
	agents, _ := spec["agents"].(object)
	lifecycle, _ := spec["lifecycle"].(object)
	virtualization, _ := spec["virtualization"].(object)
	libvirt, _ := virtualization["libvirt"].(object)
	if lifecycle["enabled"] != true || libvirt["mode"] != "Host" {
		delete(agents, "kvmNodeAgent")
	}
	if ovs, _ := agents["ovsAgent"].(object); ovs["enabled"] == true {
		ovs["image"] = object{"tag": "1"}
	}
}

// inOtherCluster removes all settings of a pool that need access to its nodes from the control plane's cluster.
func inOtherCluster(spec object) {
	slices, _ := spec["slices"].(list)
	for _, of := range append(list{spec}, slices...) {
		delete(of.(object), "availabilityZone")
		delete(of.(object), "aggregates")
		all, _ := of.(object)["pciDevices"].(list)
		for _, d := range all {
			delete(d.(object), "interface")
			delete(d.(object), "physicalNetwork")
		}
	}
	if virtualization, ok := spec["virtualization"].(object); ok {
		delete(virtualization, "evictOnCordon")
	}
	put(spec, false, "agents", "metadata", "enabled")
}

// processors adjusts the CPU settings of a pool or a slice to the validation rules.
func processors(of object) {
	cpu, ok := of["cpu"].(object)
	if !ok {
		return
	}
	delete(cpu, "models")
	if cpu["mode"] == "custom" {
		cpu["models"] = list{"EPYC"}
	}
	if cpu["dedicatedSet"] != nil { // A slice may have a ratio, and the pool sets.
		cpu["sharedSet"] = "0-3"
	}
}

// devices sets both vendor and product of each PCI device, and both interface and physical network of each network
// card.
func devices(of object) {
	all, _ := of["pciDevices"].(list)
	for i, d := range all {
		d, _ := d.(object)
		d["vendorID"], d["productID"] = "10de", "20b5"
		if d["interface"] == nil || d["physicalNetwork"] == nil {
			delete(d, "interface")
			delete(d, "physicalNetwork")
			continue
		}
		d["interface"], d["physicalNetwork"] = fmt.Sprintf("ens%d", i), fmt.Sprintf("physnet%d", 1+i%2)
		for _, field := range []string{"deviceType", "numaPolicy", "resourceClass"} {
			delete(d, field)
		}
	}
}

// bridges adds a bridge to each physical network.
func bridges(of object) {
	networks, _ := of["networks"].(object)
	mappings, _ := networks["bridgeMappings"].(list)
	for i, m := range mappings {
		m, _ := m.(object)
		m["physicalNetwork"], m["bridge"] = fmt.Sprintf("p%d", i), fmt.Sprintf("br-%d", i)
		if m["interface"] != nil {
			m["interface"] = fmt.Sprintf("bond%d", i)
		}
	}
}

// known are the control plane's claim and composite resource.
var known = map[string]string{
	"control-plane-claim": `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-a, name: cloud}
spec: {allowedNamespaces: ["*"], resourceRef: {name: cloud-x}}
`,
	"control-plane": `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: cloud-x}
spec: {claimRef: {namespace: tenant-a, name: cloud}, openStackRelease: "2025.2"}
status:
  instance: cloud
  release: "2025.2"
  cells: [{name: cell1, phase: Ready}]
  hypervisors:
    region: eu
    identityURL: https://keystone.cloud.svc:5000/v3
    publicIdentityURL: https://keystone.example.com/v3
    caSecretRef: {name: keystone-tls, key: ca.crt}
    credentialSecretRef: {name: nova-credential}
    identity:
      internalURL: https://keystone.cloud.svc:5000/v3
      publicURL: https://keystone.example.com/v3
      caSecretRef: {name: keystone-tls, key: ca.crt}
      adminCloudRef: {secretName: keystone-clouds, cloudName: admin}
      korcCloudRef: {secretName: keystone-korc-clouds, cloudName: korc}
    metadataSecretRef: {name: nova-metadata-secret}
    cells:
    - name: cell1
      queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
      externalQueue: {host: 192.0.2.7, port: 5671}
      virtualHost: nova_cell1
      queueSecretRef: {name: nova-cell1-queue}
      metadataHost: nova-metadata.cloud.svc
      hypervisorNetworks: [10.20.0.0/16]
      vncURL: https://console.example.com/vnc_lite.html
      vncIssuerRef: {name: nova-cell1-vnc-ca, kind: Issuer}
    networks:
      mechanism: OVN
      southbound: "ssl:south.cloud.svc:6642"
      chassisSouthbound: "ssl:south.cloud.svc:6645"
      externalSouthbound: "ssl:192.0.2.1:6642"
      issuerRef: {name: ovn-ca, kind: Issuer}
      agents:
        queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
        virtualHost: neutron
        queueSecretRef: {name: neutron-queue}
        sriovNetworks: [physnet1, physnet2]
        servicePlugins: [qos]
    volumes:
    - {backend: ceph, user: cinder, secretName: cinder-volume-ceph, secretUUID: u}
    - {backend: archive}
`,
}

// around returns the required resources that the function requests.
func around(platform object) (map[string][]*structpb.Struct, error) {
	required := admission.Requirements()
	s, err := structpb.NewStruct(platform)
	if err != nil {
		return nil, err
	}
	required["platform"] = []*structpb.Struct{s}
	for name, text := range known {
		o := object{}
		if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
			return nil, err
		}
		if s, err = structpb.NewStruct(o); err != nil {
			return nil, err
		}
		required[name] = []*structpb.Struct{s}
	}
	return required, aroundPools(required)
}

// agents are the network settings of nodes of a control plane without OVN.
const agents = `    networks:
      mechanism: OVS
      agents:
        queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
        virtualHost: neutron
        queueSecretRef: {name: neutron-queue}
        tunnels: [vxlan]
        sriovNetworks: [physnet1, physnet2]
        servicePlugins: [qos]
`

// withoutOVN configures a control plane with agents instead of OVN.
func withoutOVN(required map[string][]*structpb.Struct) error {
	before, rest, _ := strings.Cut(known["control-plane"], "    networks:")
	_, after, _ := strings.Cut(rest, "    volumes:")
	after = "    volumes:" + after
	o := object{}
	if err := yaml.UnmarshalStrict([]byte(before+agents+after), &o); err != nil {
		return err
	}
	s, err := structpb.NewStruct(o)
	required["control-plane"] = []*structpb.Struct{s}
	return err
}

// byAgents removes all settings of a pool that require OVN.
func byAgents(spec object) {
	slices, _ := spec["slices"].(list)
	for _, of := range append(list{spec}, slices...) {
		networks, _ := of.(object)["networks"].(object)
		if encapsulation, ok := networks["encapsulation"].(object); ok {
			delete(encapsulation, "type")
		}
	}
	if agents, ok := spec["agents"].(object); ok {
		delete(agents, "ovnController")
	}
	put(spec, object{"requests": object{"cpu": "100m"}}, "agents", "neutron", "resources")
}

func genHypervisors(t *rapid.T) (object, map[string][]*structpb.Struct) {
	namespace, name := rapid.SampledFrom([]string{"tenant-a", "t"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"pool", "p"}).Draw(t, "name")
	spec := hypervisors.draw(t, namespace, name)["spec"].(object)
	delete(spec, "compositeDeletePolicy") // Crossplane's, of claims only.
	spec["claimRef"] = object{"apiVersion": hypervisors.apiVersion, "kind": hypervisors.kind, "namespace": namespace, "name": name}
	platform := platforms.draw(t, "", "default")
	platform["spec"].(object)["limits"] = list{allowAll}
	withClusters(platform)
	required, err := around(platform)
	if err != nil {
		t.Fatal(err)
	}
	cluster, _ := spec["cluster"].(object)
	if cluster == nil && rapid.Bool().Draw(t, "without OVN") {
		byAgents(spec)
		if err := withoutOVN(required); err != nil {
			t.Fatal(err)
		}
	}
	return object{
		"apiVersion": hypervisors.apiVersion, "kind": hypervisors.composite, "metadata": serverOwned(object{"name": name + "-x7k2p"}), "spec": spec,
	}, required
}

// pool returns the pool with the most features from its function's tests, with disks in a pool of storage, and pull
// secrets.
func pool(t *testing.T) *simulate.Cluster {
	t.Helper()
	w := poolOf(t, "slices", object{
		"images": object{"pullSecrets": list{"registry"}}, "labelsInjector": object{"webhook": true}, "monitoring": object{"enabled": true},
	}, object{
		"storage": object{"clusterRef": object{"namespace": "storage", "name": "ceph"}, "pool": "vms"},
	})
	injector, err := structpb.NewStruct(object{"enabled": true})
	if err != nil {
		t.Fatal(err)
	}
	agents := w.XR.GetFields()["spec"].GetStructValue().GetFields()["agents"].GetStructValue()
	agents.Fields["labelsInjector"] = structpb.NewStructValue(injector)
	watching, err := structpb.NewStruct(object{"enabled": true, "image": object{"tag": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	agents.Fields["ovsAgent"] = structpb.NewStructValue(watching)
	return w
}

// otherClusterPool returns a pool in a separate cluster, without these features, whose copies in two clusters have the
// same name.
func otherClusterPool(t *testing.T) *simulate.Cluster {
	t.Helper()
	w := poolOf(t, "apart", object{}, object{})
	spec := w.XR.GetFields()["spec"].GetStructValue()
	delete(spec.GetFields(), "storage")
	lifecycle, err := structpb.NewStruct(object{"enabled": true, "credentialsSecretRef": object{"name": "operator"}})
	if err != nil {
		t.Fatal(err)
	}
	spec.Fields["lifecycle"] = structpb.NewStructValue(lifecycle)
	return w
}

// agentPool returns a pool of a control plane without OVN.
func agentPool(t *testing.T) *simulate.Cluster {
	t.Helper()
	w := poolOf(t, "mechanism-ovs", object{"images": object{"pullSecrets": list{"registry"}}}, object{
		"controlPlaneRef": object{"namespace": "tenant-a", "name": "cloud"},
	})
	if err := withoutOVN(w.Required); err != nil {
		t.Fatal(err)
	}
	return w
}

// cardPool returns a pool whose nodes have network cards.
func cardPool(t *testing.T) *simulate.Cluster {
	t.Helper()
	return poolOf(t, "cards", object{"images": object{"pullSecrets": list{"registry"}}}, object{
		"controlPlaneRef": object{"namespace": "tenant-a", "name": "cloud"},
	})
}

// poolOf returns a pool from its function's tests on a platform, with additional fields in its spec.
func poolOf(t *testing.T, file string, platform, more object) *simulate.Cluster {
	t.Helper()
	xr := composite(t, hypervisors, "pool", file)
	delete(xr.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	more["claimRef"] = object{"namespace": "tenant-a", "name": "pool"}
	for field, value := range more {
		s, err := structpb.NewStruct(value.(object))
		if err != nil {
			t.Fatal(err)
		}
		xr.GetFields()["spec"].GetStructValue().Fields[field] = structpb.NewStructValue(s)
	}
	platform["domain"], platform["limits"] = "example.com", list{allowAll}
	required, err := around(withClusters(object{"spec": platform}))
	if err != nil {
		t.Fatal(err)
	}
	return &simulate.Cluster{XR: xr, Kinds: kinds.Runners(), Required: required}
}

// invalidHypervisors are the invalid changes of a pool.
var invalidHypervisors = map[string]invalidChange{
	"nodes that are not left to it": {typ: respond.SpecValid, wantMessage: "spec.nodeSelector: no limit of the platform allows", make: func(w *simulation, _ object) {
		w.require("platform", platformWith(object{"domain": "example.com"}))
	}},
	"agents of OVN and others": {typ: respond.SpecValid, edit: true, wantMessage: "not used by a control plane with mechanism ", make: func(_ *simulation, spec object) {
		put(spec, object{
			"neutron":       object{"resources": object{"requests": object{"cpu": "100m"}}},
			"ovnController": object{"resources": object{"requests": object{"cpu": "100m"}}},
		}, "agents")
		slices, _ := spec["slices"].(list)
		for _, of := range append(list{spec}, slices...) {
			delete(of.(object), "pciDevices") // One of network cards has Neutron's agent of them.
		}
	}},
	"network cards that lead nowhere": in(list{
		object{"name": "a", "vendorID": "8086", "productID": "1889", "interface": "ens1", "physicalNetwork": "other"},
	}, `spec.pciDevices[0].physicalNetwork: the control plane has no physical network "other"`, "pciDevices"),
	"a network card that leads to two networks": in(list{
		object{"name": "a", "vendorID": "8086", "productID": "1889", "interface": "ens1", "physicalNetwork": "physnet1"},
		object{"name": "b", "vendorID": "8086", "productID": "188a", "interface": "ens1", "physicalNetwork": "physnet2"},
	}, "spec.pciDevices[1].interface: ens1 is already assigned to physnet1", "pciDevices"),
	"slices that overlap": in(list{
		object{"name": "a", "nodeSelector": object{"a": "a"}}, object{"name": "b", "nodeSelector": object{"b": "b"}},
	}, "spec.slices[1].nodeSelector: a node could belong to", "slices"),
	"a cell that is not there": in("west", "spec.cell: the control plane", "cell"),
	"an unknown driver":        in("cloud-hypervisor", "spec.virtualization.driver: ", "virtualization", "driver"),
	"disks in a pool of images": {typ: respond.SpecValid, edit: true, wantMessage: "spec.storage", make: func(_ *simulation, spec object) {
		put(spec, object{"clusterRef": object{"namespace": "storage", "name": "ceph"}, "pool": "images"}, "storage")
	}},
	"disks in a pool of a missing namespace": {typ: respond.SpecValid, wantMessage: "spec.storage", make: func(w *simulation, spec object) {
		put(spec, object{"clusterRef": object{"namespace": "nobody", "name": "ceph"}, "pool": "vms"}, "storage")
		w.require("storage-claim.nobody.ceph")
	}},
	"two who empty nodes": {typ: respond.SpecValid, wantMessage: "spec.virtualization.evictOnCordon: cannot be set together with lifecycle", make: func(_ *simulation, spec object) {
		put(spec, object{"enabled": true, "credentialsSecretRef": object{"name": "operator"}}, "lifecycle")
		put(spec, true, "virtualization", "evictOnCordon")
		put(spec, object{"mode": "Managed"}, "virtualization", "libvirt")
		delete(spec, "cluster")
	}},
	"an agent that sees nothing": {typ: respond.SpecValid, wantMessage: "spec.agents.kvmNodeAgent.enabled: the KVM node agent", make: func(_ *simulation, spec object) {
		put(spec, true, "agents", "kvmNodeAgent", "enabled")
		put(spec, object{"mode": "Managed"}, "virtualization", "libvirt")
	}},
	"an image of another release": in(object{"image": object{"tag": "stable-2024.2"}},
		"spec.agents.novaCompute.image.tag: the release is set by the control plane", "agents", "novaCompute"),
	"images of anywhere": {typ: respond.SpecValid, edit: true, wantMessage: "spec.images.registry: no limit of the platform allows", make: func(w *simulation, spec object) {
		put(spec, "registry.anywhere.example.com", "images", "registry")
		w.require("platform", platformWith(object{"domain": "example.com", "limits": list{
			object{"name": "nodes", "namespaces": list{"*"}, "hypervisorNodes": list{"*"}, "tolerations": list{"*"}, "registries": list{"*"}},
		}}))
	}},
	"an unknown cluster": in(object{"ref": object{"name": "nobody"}}, "spec.cluster.ref.name: cluster \"nobody\" is not available", "cluster"),
	"a control plane that is not there": {typ: respond.SpecValid, wantMessage: "spec.controlPlaneRef: there is no", make: func(w *simulation, _ object) {
		w.require("control-plane-claim")
	}},
	"no platform": {typ: respond.Composed, wantMessage: "there is no PlatformConfig", make: func(w *simulation, _ object) { w.require("platform") }},
}

// hypervisorOrders are the creation orders in a pool.
var hypervisorOrders = []order{
	{first: `DaemonSet\.apps nova-compute.*`, then: `PrometheusRule\.monitoring.* .*`, exists: true, why: "alerts on missing objects would fire, and those on pods must not wait for all of them"},
	{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*pull-secrets`, why: "they are in it"},
	{first: `Namespace .*`, then: `(ConfigMap control-plane|NetworkPolicy\.networking.* default-deny)`, why: "they are in it"},
	{first: `ConfigMap control-plane`, then: `(Certificate\.cert-manager\.io|(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*)) .*(-ovn|control-plane-secrets)`, why: "it has the issuer, and the source of the Secrets"},
	{first: `ConfigMap control-plane`, then: `PushSecret\.external-secrets\.io .*-(control-plane|volume-key)-.*`, why: "it has their location"},
	{first: `PushSecret\.external-secrets\.io .*-control-plane-.*-credential`, then: `ExternalSecret\.external-secrets\.io control-plane-.*-credential`, why: "it is read where it was pushed to"},
	{first: `ConfigMap control-plane`, then: `(Password\.generators.*|ExternalSecret\.external-secrets\.io) .*-user`, why: "it has the location of the account"},
	{first: `ExternalSecret\.external-secrets\.io .*-user`, then: `(User\.openstack.*|SecretAggregate\.c5c3\.io) .*`, why: "it has the account's password"},
	{first: `ConfigMap control-plane`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*(node-identity|-issuer|-node-signer)`, why: "it names the companion that signs"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*(node-identity|-issuer|-node-signer)`, then: `NodeIssuer\.c5c3.* [^ ]*-[0-9a-f]{20}`, why: "the companion signs with these rights"},
	{first: `NodeIssuer\.c5c3.* [^ ]*-[0-9a-f]{20}`, then: `ConfigMap ovn-controller-config-.*`, why: "its pods wait for a certificate"},
	{first: `(User|Role)\.openstack\.k-orc\.cloud .*`, then: `RoleAssignment\.openstack.* .*`, why: "the role is assigned to the user"},
	{first: `ConfigMap control-plane`, then: `(Role|RoleBinding)\.rbac.* .*-companion`, why: "it names the companion"},
	{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `RoleAssignment\.openstack.* .*`, why: "the companion assigns it"},
	{first: `RoleAssignment\.openstack.* .*`, then: `CredentialRotation\.c5c3\.io .*-credential`, why: "the credential has the roles"},
	{first: `CredentialRotation\.c5c3\.io .*-credential`, then: `(PushSecret|ExternalSecret)\.external-secrets\.io .*control-plane-.*-credential`, why: "it writes the Secret"},
	{first: `PushSecret\.external-secrets\.io .*-volume-key-.*`, then: `ExternalSecret\.external-secrets\.io volume-key-.*`, why: "it is read where it was pushed to"},
	{first: `ConfigMap control-plane`, then: `NetworkPolicy\.networking.* .*-(queue|southbound|apis)`, why: "it has the networks"},
	{first: `NetworkPolicy\.networking.* .*-(queue|southbound|apis)`, then: `ConfigMap ovn-controller-config-.*`, exists: true, why: "it connects through them"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*control-plane-secrets`, then: `SecretStore\.external-secrets\.io control-plane-secrets`, why: "it reads with that account"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*pull-secrets`, then: `SecretStore\.external-secrets\.io .*pull-secrets`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io control-plane-secrets`, then: `ExternalSecret\.external-secrets\.io control-plane-.*`, why: "they are read by it"},
	{first: `SecretStore\.external-secrets\.io .*pull-secrets`, then: `ExternalSecret\.external-secrets\.io platform-pull-.*`, why: "they are read by it"},
	{first: `ConfigMap control-plane`, then: `ConfigMap (openvswitch|libvirt)-config`, why: "a node is not changed for a control plane that is not there"},
	{first: `ConfigMap control-plane`, then: `Issuer\.cert-manager\.io live-migration-self-signed`, why: "a pool is of a control plane"},
	{first: `Issuer\.cert-manager\.io live-migration-self-signed`, then: `Certificate\.cert-manager\.io live-migration-ca`, why: "it signs it"},
	{first: `Certificate\.cert-manager\.io live-migration-ca`, then: `(Issuer\.cert-manager\.io live-migration-ca|NodeIssuer\.c5c3.* .*-(live-migration|qemu))`, why: "it signs with it"},
	{first: `Issuer\.cert-manager\.io live-migration-ca`, then: `Certificate\.cert-manager\.io (live-migration|qemu)-tls`, why: "it signs it"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*live-migration(-authority|-signer)?`, then: `NodeIssuer\.c5c3.* .*-(live-migration|qemu)`, why: "the companion signs with these rights"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*disk-transfer(-authority|-signer)?`, then: `NodeIssuer\.c5c3.* .*-disk-transfer`, why: "the companion signs with these rights"},
	{first: `ConfigMap control-plane`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*(live-migration|disk-transfer)(-authority|-signer)?`, why: "it names the companion that signs"},
	{first: `NodeIssuer\.c5c3.* .*-disk-transfer`, then: `(ConfigMap disk-transfer-config-.*|Service disk-transfer)`, why: "its pods wait for a certificate"},
	{first: `NodeIssuer\.c5c3.* .*-(live-migration|qemu)`, then: `ConfigMap libvirt-config`, why: "its pods wait for a certificate"},
	{first: `ConfigMap control-plane`, then: `Issuer\.cert-manager\.io disk-transfer-self-signed`, why: "a pool is of a control plane"},
	{first: `Issuer\.cert-manager\.io disk-transfer-self-signed`, then: `Certificate\.cert-manager\.io disk-transfer-ca`, why: "it signs it"},
	{first: `Certificate\.cert-manager\.io disk-transfer-ca`, then: `(Issuer\.cert-manager\.io disk-transfer-ca|NodeIssuer\.c5c3.* .*-disk-transfer)`, why: "it signs with it"},
	{first: `Issuer\.cert-manager\.io disk-transfer-ca`, then: `Certificate\.cert-manager\.io disk-transfer-tls`, why: "it signs it"},
	{first: `Certificate\.cert-manager\.io disk-transfer-tls`, then: `(ConfigMap disk-transfer-config-.*|Service disk-transfer)`, why: "its pods mount it"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `Issuer\.cert-manager\.io disk-transfer-self-signed`, why: "its image is pulled with it"},
	{first: `(ConfigMap disk-transfer-config-.*|Service disk-transfer)`, then: `DaemonSet\.apps disk-transfer.*`, why: "its pods run it"},
	{first: `DaemonSet\.apps disk-transfer.*`, then: `ConfigMap nova-compute-config-.*`, exists: true, why: "a server that is resized is copied through it"},
	{first: `Certificate\.cert-manager\.io (live-migration|qemu)-tls`, then: `ConfigMap libvirt-config`, why: "its pods mount it"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ConfigMap (openvswitch|libvirt)-config`, why: "images are pulled with it"},
	{first: `ExternalSecret\.external-secrets\.io control-plane-.*-vnc`, then: `ConfigMap libvirt-config`, why: "its pods mount it"},
	{first: `ConfigMap openvswitch-config`, then: `DaemonSet\.apps openvswitch.*`, why: "its pods run it"},
	{first: `ConfigMap libvirt-config`, then: `DaemonSet\.apps libvirt.*`, why: "its pods run it"},
	{first: `ConfigMap ovn-controller-config-.*`, then: `DaemonSet\.apps ovn-.*`, why: "its pods run it"},
	{first: `ConfigMap metadata-config-.*`, then: `DaemonSet\.apps metadata.*`, why: "its pods run it"},
	{first: `ConfigMap nova-compute-config-.*`, then: `DaemonSet\.apps nova-compute.*`, why: "its pods run it"},
	{first: `ExternalSecret\.external-secrets\.io control-plane-.*`, then: `ConfigMap (ovn-controller|metadata|nova-compute)-config-.*`, why: "they log in with it"},
	{first: `ConfigMap control-plane`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*volume-secrets`, why: "it has the source of the Secrets"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ServiceAccount volume-secrets`, why: "the image that reads the keys is pulled with it"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*volume-secrets`, then: `SecretStore\.external-secrets\.io volume-secrets`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io volume-secrets`, then: `ExternalSecret\.external-secrets\.io volume-key-.*`, why: "they are read by it"},
	{first: `ExternalSecret\.external-secrets\.io volume-key-.*`, then: `ConfigMap volume-keys-config-.*`, why: "libvirt is configured with them"},
	{first: `DaemonSet\.apps libvirt.*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*volume-secrets`, exists: true, why: "its pods pass the keys to it"},
	{first: `ConfigMap control-plane`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*storage-secrets`, why: "it names the owner of the keys"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*storage-secrets`, then: `SecretStore\.external-secrets\.io storage-secrets`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io storage-secrets`, then: `ExternalSecret\.external-secrets\.io storage-key-.*`, why: "they are read by it"},
	{first: `ExternalSecret\.external-secrets\.io storage-key-.*`, then: `ConfigMap storage`, why: "a pool without a key is none yet"},
	{first: `ExternalSecret\.external-secrets\.io storage-key-.*`, then: `DaemonSet\.apps volume-keys.*`, why: "libvirt is configured with it"},
	{first: `ConfigMap storage`, then: `(ConfigMap nova-compute-config-.*|DaemonSet\.apps nova-compute.*)`, why: "virtual machines start with the key"},
	{first: `ConfigMap volume-keys-config-.*`, then: `DaemonSet\.apps volume-keys.*`, why: "its pods run it"},
	{first: `DaemonSet\.apps openvswitch.*`, then: `ConfigMap (ovn-controller|metadata)-config-.*`, exists: true, why: "they connect to it"},
	{first: `DaemonSet\.apps ovn-.*`, then: `ConfigMap metadata-config-.*`, why: "it gives the node its name"},
	{first: `NetworkPolicy\.networking.* .*-(queue|apis)`, then: `ConfigMap openvswitch-agent-config-.*`, exists: true, why: "it connects through them"},
	{first: `ExternalSecret\.external-secrets\.io control-plane-.*`, then: `ConfigMap (openvswitch|l3|dhcp|sriov)-agent-config-.*`, why: "they log in with it"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ConfigMap openvswitch-agent-config-.*`, why: "images are pulled with it"},
	{first: `ConfigMap openvswitch-agent-config-.*`, then: `DaemonSet\.apps openvswitch-agent.*`, why: "its pods run it"},
	{first: `ConfigMap l3-agent-config-.*`, then: `DaemonSet\.apps l3-agent.*`, why: "its pods run it"},
	{first: `ConfigMap dhcp-agent-config-.*`, then: `DaemonSet\.apps dhcp-agent.*`, why: "its pods run it"},
	{first: `DaemonSet\.apps openvswitch(-slice-.*)?`, then: `ConfigMap openvswitch-agent-config-.*`, exists: true, why: "it connects to it"},
	{first: `DaemonSet\.apps openvswitch-agent.*`, then: `ConfigMap (l3|dhcp)-agent-config-.*`, exists: true, why: "their ports would not be connected"},
	{first: `RemoteConsumer\.c5c3.*`, then: `ConfigMap (openvswitch|l3|dhcp|sriov)-agent-config-.*`, why: "logins of known pods are not revoked"},
	{first: `NetworkPolicy\.networking.* .*-(queue|apis)`, then: `ConfigMap sriov-agent-config-.*`, exists: true, why: "it connects through them"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ConfigMap sriov-agent-config-.*`, why: "its image is pulled with it"},
	{first: `ConfigMap sriov-agent-config-.*`, then: `DaemonSet\.apps sriov-agent.*`, why: "its pods run it"},
	{first: `DaemonSet\.apps sriov-agent.*`, then: `ConfigMap nova-compute-config-.*`, exists: true, why: "Neutron binds no port on a node before the cards are reported"},
	{first: `DaemonSet\.apps (l3|dhcp)-agent.*`, then: `ConfigMap nova-compute-config-.*`, exists: true, why: "they request an address when they start"},
	{first: `DaemonSet\.apps (openvswitch|ovn-|libvirt).*`, then: `ConfigMap nova-compute-config-.*`, why: "a known hypervisor gets servers"},
	{first: `DaemonSet\.apps metadata.*`, then: `ConfigMap nova-compute-config-.*`, exists: true, why: "they read metadata when they start"},
	{first: `ConfigMap control-plane`, then: `RemoteConsumer\.c5c3.*`, why: "it names the owner of the pool's logins"},
	{first: `RemoteConsumer\.c5c3.*`, then: `(ConfigMap nova-compute-config-.*|DaemonSet\.apps nova-compute.*)`, why: "logins of known pods are not revoked"},
	{first: `ExternalSecret\.external-secrets\.io control-plane-.*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*operator-secrets`, why: "it verifies servers by a CA certificate of these"},
	{first: `DaemonSet\.apps nova-compute.*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*operator-secrets`, exists: true, why: "it waits for nodes that Nova knows"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*operator-secrets`, then: `SecretStore\.external-secrets\.io operator-secrets`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io operator-secrets`, then: `ExternalSecret\.external-secrets\.io operator-login-.*`, why: "they are read by it"},
	{first: `ExternalSecret\.external-secrets\.io operator-login-.*`, then: `Deployment\.apps hypervisor-operator`, why: "it logs in with it"},
	{first: `(ServiceAccount|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*|NetworkPolicy.*|Issuer.*) .*hypervisor-operator`, then: `Deployment\.apps hypervisor-operator`, why: "it exits without permissions"},
	{first: `Deployment\.apps hypervisor-operator`, then: `(ServiceAccount|ClusterRoleBinding\.rbac.*|NetworkPolicy.*) .*kvm-node-agent`, why: "it exits if its node has no Hypervisor"},
	{first: `(ServiceAccount|ClusterRoleBinding\.rbac.*|NetworkPolicy.*) .*kvm-node-agent`, then: `DaemonSet\.apps kvm-node-agent.*`, why: "it calls the API server when it starts"},
	{first: `ConfigMap control-plane`, then: `(ServiceAccount|RoleBinding\.rbac.*) .*ovs-agent`, why: "a pool is of a control plane"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ServiceAccount .*ovs-agent`, why: "its image is pulled with it"},
	{first: `DaemonSet\.apps openvswitch(-slice-.*)?`, then: `(ServiceAccount|RoleBinding\.rbac.*) .*ovs-agent`, exists: true, why: "it looks at the switch"},
	{first: `(ServiceAccount|RoleBinding\.rbac.*) .*ovs-agent`, then: `DaemonSet\.apps ovs-agent.*`, why: "it calls the API server when it starts"},
	{first: `Namespace .*`, then: `(ServiceAccount|Issuer\.cert-manager\.io|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*) .*labels-injector`, why: "they are in it"},
	{first: `ExternalSecret\.external-secrets\.io platform-pull-.*`, then: `ServiceAccount (labels-injector|hypervisor-operator)`, why: "its image is pulled with it"},
	{first: `(ServiceAccount|RoleBinding\.rbac.*|ClusterRoleBinding\.rbac.*|NetworkPolicy.*) .*labels-injector`, then: `Deployment\.apps labels-injector`, why: "it calls the API server when it starts"},
	{first: `Issuer\.cert-manager\.io labels-injector`, then: `Certificate\.cert-manager\.io labels-injector-tls`, why: "it signs it"},
	{first: `Certificate\.cert-manager\.io labels-injector-tls`, then: `Deployment\.apps labels-injector`, why: "its pod mounts it"},
	{first: `Deployment\.apps labels-injector`, then: `ValidatingWebhookConfiguration.*`, why: "calls of a webhook without a server time out"},
	{first: `ConfigMap control-plane`, then: `(Role|RoleBinding|ClusterRoleBinding)\.rbac.* (companion|.*-companion-nodes)`, why: "it names the companion that looks up the nodes of pods"},
	{first: `DaemonSet\.apps nova-compute.*`, then: `(Role|RoleBinding|ClusterRoleBinding)\.rbac.* (companion|.*-companion-nodes)`, exists: true, why: "Nova knows a node by its pod"},
	{first: `(Role|RoleBinding|ClusterRoleBinding)\.rbac.* (companion|.*-companion-nodes)`, then: `(ComputeCatalog|ServiceCheck)\.openstack.*`, why: "the companion finds the nodes with these rights"},
}
