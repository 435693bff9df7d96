package hypervisor

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// TestMain runs scripts with the interpreter itself: on machines with several versions, the command python3 is a script that selects one for
// each start, and takes longer than most of ours.
func TestMain(m *testing.M) {
	if out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		folder := filepath.Dir(strings.TrimSpace(string(out)))
		if err := os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{
	Cache:            &readyClusters,
	KeepsNoData:      true,
	GroupVersionKind: hypervisorv1.CompositeGroupVersionKind,
	Runner:           New(), Name: "hypervisors-x7d2f",
	Cluster: func(w *simulate.Cluster) {
		around(w, "tenant-a", objects(planeClaim, controlPlaneYAML, storageClaim, storageXR, agentsClaim, agentsXR, cardsClaim, cardsXR)...)
	},
}

const (
	// cloud is the instance of the control plane.
	cloud = "tenant-a-cloud-aab838129d70f8f9a33a"
	// open is a platform without defaults that allows all values, with clusters and a secret store.
	open = "{domain: example.com, images: {registry: registry.example.com, pullSecrets: [registry]}, limits: [" + limittest.Everything + "], " +
		"secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, clusters: [" +
		"{name: east, providerConfig: east-config, allowedNamespaces: [tenant-a]}, " +
		"{name: west, providerConfig: west-config, allowedNamespaces: [tenant-a]}, " +
		"{name: theirs, providerConfig: theirs-config, allowedNamespaces: [tenant-b]}, " +
		"{name: here, providerConfig: in-cluster, allowedNamespaces: [tenant-a]}]}"
	// outside are the control plane's physical networks.
	outside = "{name: external}, {name: storage}, {name: physnet1}, {name: physnet2}, {name: a}"
	// planeClaim is the control plane's claim, theirs its composite resource.
	planeClaim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-a, name: cloud}
spec: {openStackRelease: "2025.2", allowedNamespaces: ["friends-*"], resourceRef: {name: cloud-x}}
`
	controlPlaneYAML = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: cloud-x}
spec:
  openStackRelease: "2025.2"
  claimRef: {namespace: tenant-a, name: cloud}
  services: {nova: {enabled: true}, neutron: {enabled: true, ml2: {physicalNetworks: [` + outside + `]}}}
status:
  instance: ` + cloud + `
  release: "2025.2"
  cells: [{name: cell1, phase: Ready}]
  hypervisors:
    region: eu-de-1
    identityURL: https://keystone.` + cloud + `.svc:5000/v3
    publicIdentityURL: https://keystone.cloud.example.com/v3
    caSecretRef: {name: keystone-tls, key: ca.crt}
    credentialSecretRef: {name: nova-credential}
    identity:
      internalURL: https://keystone.` + cloud + `.svc:5000/v3
      publicURL: https://keystone.cloud.example.com/v3
      caSecretRef: {name: keystone-tls, key: ca.crt}
      adminCloudRef: {secretName: keystone-clouds, cloudName: admin}
      korcCloudRef: {secretName: keystone-korc-clouds, cloudName: korc}
      credentialRotation: {intervalDays: 30, preRotationDays: 3, gracePeriodDays: 2}
    metadataSecretRef: {name: nova-metadata-secret}
    cells:
    - name: cell1
      queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.` + cloud + `.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
      externalQueue: {host: 192.0.2.7, port: 30567}
      virtualHost: nova_cell1
      queueSecretRef: {name: nova-cell1-queue}
      metadataHost: nova-metadata.` + cloud + `.svc
      hypervisorNetworks: [10.20.0.0/16]
      vncURL: https://console-cell1.cloud.example.com/vnc_lite.html
      vncIssuerRef: {name: nova-cell1-vnc-ca, kind: Issuer}
    - name: other
      queue: {rabbitMQRef: {name: other}, host: other.` + cloud + `.svc, port: 5671, caSecretRef: {name: other-tls, key: ca.crt}}
      virtualHost: nova_other
      queueSecretRef: {name: nova-other-queue}
      metadataHost: nova-metadata.` + cloud + `.svc
    networks:
      mechanism: OVN
      southbound: ssl:ovn-southbound-0.` + cloud + `.svc:6642,ssl:ovn-southbound-1.` + cloud + `.svc:6642
      chassisSouthbound: ssl:ovn-southbound-0.` + cloud + `.svc:6645,ssl:ovn-southbound-1.` + cloud + `.svc:6645
      externalSouthbound: ssl:192.0.2.1:6642,ssl:192.0.2.2:6642
      inactivityProbeSeconds: 120
      issuerRef: {name: ovn-ca, kind: Issuer}
    volumes:
    - {backend: ceph-rbd, user: cinder, secretName: cinder-volume-ceph-rbd, secretUUID: 6f0d2c3a-1b4e-8a55-8c1f-0123456789ab}
`
)

const (
	// storageClaim is the claim of a StorageCluster that the pool may use, storageXR its composite resource.
	storageClaim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {namespace: storage, name: ceph}
spec: {allowedNamespaces: [tenant-a], resourceRef: {name: ceph-x}}
`
	storageXR = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XStorageCluster
metadata: {name: ceph-x}
spec:
  claimRef: {namespace: storage, name: ceph}
  consumers: [{name: cloud, controlPlaneRef: {namespace: tenant-a, name: cloud}}, {name: other, controlPlaneRef: {namespace: tenant-a, name: other}}]
status:
  instance: storage-ceph-1a2b3
  access:
    fsid: 0f7a0b1c-0c1e-4a53-9d3f-7f6f1f0c5b1e
    monitors: ["[v2:10.3.0.1:3300,v1:10.3.0.1:6789]", "[v2:10.3.0.2:3300,v1:10.3.0.2:6789]"]
    consumers:
    - name: other
      controlPlaneRef: {namespace: tenant-a, name: other}
      pools: [{name: vms, pool: other-vms, purpose: vms}]
      clients: [{service: nova, user: other-nova, secretName: rook-ceph-client-other-nova, secretUUID: 1f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}]
    - name: cloud
      controlPlaneRef: {namespace: tenant-a, name: cloud}
      pools: [{name: vms, pool: cloud-vms, purpose: vms}, {name: images, pool: cloud-images, purpose: images}]
      clients:
      - {service: nova, user: cloud-nova, secretName: rook-ceph-client-cloud-nova, secretUUID: 2f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}
`
)

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// around adds a claim in a namespace, and other objects.
func around(w *simulate.Cluster, namespace string, others ...*structpb.Struct) {
	spec := w.XR.GetFields()["spec"].GetStructValue()
	spec.Fields["claimRef"] = structpb.NewStructValue(parsed(`{namespace: ` + namespace + `, name: hypervisors}`))
	delete(w.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	w.Required, w.RequiredResources = admission.Requirements(), others
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + open + `}`)
}

// objects are several of YAML.
func objects(docs ...string) []*structpb.Struct {
	out := make([]*structpb.Struct, len(docs))
	for i, doc := range docs {
		out[i] = parsed(doc)
	}
	return out
}

// parsed returns an object of YAML.
func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

// newCluster returns a simulated cluster with a spec in a namespace, and other objects.
// readyClusters contains the clusters that became ready: many tests start with the same claim.
var readyClusters simulate.Cache

// makeReady runs a cluster until its claim is ready.
func makeReady(w *simulate.Cluster) error {
	_, err := readyClusters.Run(w)
	return err
}

func newCluster(spec, namespace string, others ...*structpb.Struct) *simulate.Cluster {
	w := &simulate.Cluster{Kinds: map[string]function.Runner{kind.GroupKind().String(): New()}}
	w.XR = parsed("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: XHypervisorCluster, metadata: {name: hypervisors-x7d2f}, spec: " + spec + "}")
	around(w, namespace, others...)
	return w
}

// wantError fails unless the error starts with a field and contains a message.
func wantError(t *testing.T, reason string, err error, field, message string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), field+": ") || !strings.Contains(err.Error(), message) {
		t.Errorf("%s\nerror %v, want one about %s with %q", reason, err, field, message)
	}
}

// TestToleratesConfiguredUnavailableNodes verifies that a node that is down blocks neither the next component nor the readiness of the
// pool, and that its DaemonSets replace pods on as many nodes at a time as the claim sets.
func TestToleratesConfiguredUnavailableNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec   string
		down           float64
		maxUnavailable string
		composed       bool
	}{
		"one of 1000":      {"Other nodes are used.", mine, 1, "5%", true},
		"too many":         {"The switch may be broken.", mine, 51, "5%", false},
		"limit of a claim": {"The claim tolerates more.", strings.TrimSuffix(mine, "}") + ", maxUnavailable: 10%}", 51, "10%", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			compute, _ := inside(t, w, computeComponent)
			strategy := compute["spec"].(map[string]any)["updateStrategy"].(map[string]any)
			if got := strategy["rollingUpdate"].(map[string]any)["maxUnavailable"]; got != tc.maxUnavailable {
				t.Errorf("nova-compute has maxUnavailable %v, want %s", got, tc.maxUnavailable)
			}
			delete(w.Observed, computeComponent)
			openVSwitch, put := inside(t, w, switchComponent)
			openVSwitch["status"] = map[string]any{
				"desiredNumberScheduled": 1000.0, "currentNumberScheduled": 1000.0, "updatedNumberScheduled": 1000.0 - tc.down,
				"numberAvailable": 1000 - tc.down, "observedGeneration": openVSwitch["metadata"].(map[string]any)["generation"],
			}
			put()
			rsp := New().Run(w.Request())
			if _, composed := rsp.Composed[computeComponent]; composed != tc.composed {
				t.Errorf("%s nova-compute is composed: %t", tc.reason, composed)
			}
		})
	}
}
