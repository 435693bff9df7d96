package guards

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	claimYAML = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-a, name: cloud}
spec: {openStackRelease: "2025.2", resourceRef: {name: cloud-x}}
`
	compositeYAML = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: cloud-x}
spec:
  openStackRelease: "2025.2"
  claimRef: {namespace: tenant-a, name: cloud}
  services: {nova: {enabled: true}, neutron: {enabled: true, ml2: {physicalNetworks: []}}}
status:
  instance: tenant-a-cloud
  release: "2025.2"
  cells: [{name: cell1, phase: Ready}]
  hypervisors:
    region: eu-de-1
    identityURL: https://keystone.tenant-a-cloud.svc:5000/v3
    publicIdentityURL: https://keystone.cloud.example.com/v3
    caSecretRef: {name: keystone-tls, key: ca.crt}
    credentialSecretRef: {name: nova-credential}
    identity:
      internalURL: https://keystone.tenant-a-cloud.svc:5000/v3
      publicURL: https://keystone.cloud.example.com/v3
      caSecretRef: {name: keystone-tls, key: ca.crt}
      adminCloudRef: {secretName: keystone-clouds, cloudName: admin}
      korcCloudRef: {secretName: keystone-korc-clouds, cloudName: korc}
    metadataSecretRef: {name: nova-metadata-secret}
    cells:
    - name: cell1
      queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.tenant-a-cloud.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
      externalQueue: {host: 192.0.2.7, port: 30567}
      virtualHost: nova_cell1
      queueSecretRef: {name: nova-cell1-queue}
      metadataHost: nova-metadata.tenant-a-cloud.svc
      hypervisorNetworks: [10.20.0.0/16]
      vncURL: https://console-cell1.cloud.example.com/vnc_lite.html
      vncIssuerRef: {name: nova-cell1-vnc-ca, kind: Issuer}
    networks:
      mechanism: OVN
      southbound: ssl:ovn-southbound-0.tenant-a-cloud.svc:6642
      externalSouthbound: ssl:192.0.2.1:6642
      inactivityProbeSeconds: 120
      issuerRef: {name: ovn-ca, kind: Issuer}
`
	platformYAML = `
metadata: {name: default}
spec: {domain: example.com, images: {registry: registry.example.com}, limits: [` + limittest.Everything + `],
  secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds},
  clusters: [{name: west, providerConfig: west-config, allowedNamespaces: [tenant-a]}]}
`
	checkComponent = "service-check"
)

// pool is a claim of a pool whose objects all exist.
type pool struct {
	simulation *simulate.Cluster
	// check is the ServiceCheck that the function composes; nil for a pool in another cluster than the control plane's. isWrapped is set if
	// it is in another cluster than the claim.
	check     *openstackv1.ServiceCheck
	isWrapped bool
}

// pools are the pools of a control plane in the management cluster, remotePools the pools of one in another cluster, with the same checks.
// separatePool is a pool in another cluster than its control plane's.
var (
	pools        = []*pool{mustPool("hypervisors-a", "", ""), mustPool("hypervisors-b", "", "")}
	remotePools  = []*pool{mustPool("hypervisors-a", "west", "west"), mustPool("hypervisors-b", "west", "west")}
	separatePool = mustPool("hypervisors-c", "west", "")
)

func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

// mustPool composes a pool in the given clusters until all of its objects exist.
func mustPool(name, nodes, plane string) *pool {
	spec, composite := "{controlPlaneRef: {namespace: tenant-a, name: cloud}", compositeYAML
	if nodes == plane {
		spec += ", virtualization: {evictOnCordon: true}"
	}
	if nodes != "" {
		spec += ", agents: {metadata: {enabled: false}}, cluster: {ref: {name: " + nodes + "}}"
	}
	if plane != "" {
		composite = strings.Replace(composite, "  openStackRelease", "  cluster: {ref: {name: "+plane+"}}\n  openStackRelease", 1)
	}
	w := &simulate.Cluster{
		Kinds: map[string]function.Runner{hypervisorv1.CompositeGroupVersionKind.GroupKind().String(): hypervisor.New()},
		XR: parsed("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: XHypervisorCluster, metadata: {name: " + name + "-x}, spec: " + spec +
			", claimRef: {namespace: tenant-a, name: " + name + "}}}"),
		Required: admission.Requirements(), RequiredResources: []*structpb.Struct{parsed(claimYAML), parsed(composite)},
	}
	w.Required["platform"] = []*structpb.Struct{parsed(platformYAML)}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		panic(err)
	}
	out := &pool{simulation: w}
	if o, ok := w.Observed[checkComponent]; ok {
		if out.isWrapped = wrapper.IsObject(o); out.isWrapped {
			o, _ = wrapper.Desired(o)
		}
		out.check = &openstackv1.ServiceCheck{}
		text, err := json.Marshal(o.Map())
		if err == nil {
			err = json.Unmarshal(text, out.check)
		}
		if err != nil {
			panic(err)
		}
		out.check.Status, out.check.Generation, out.check.ResourceVersion = openstackv1.ServiceCheckStatus{}, 1, "0"
	}
	return out
}

// guard is a condition of a claim.
type guard struct {
	open            bool
	reason, message string
	// observed is the time in the status from which it was computed; ran is the time at which it was computed.
	observed, ran time.Time
}

// run calls the function of a pool with a version of its check and a time of the clock, and returns the guards.
func (p *pool) run(check *openstackv1.ServiceCheck, clock, now time.Time) map[string]guard {
	req := p.simulation.Request()
	req.Required[freshness.Requirement] = []*structpb.Struct{parsed(fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, metadata: "+
		"{name: cobaltcore-clock, namespace: kube-system, creationTimestamp: '2020-01-01T00:00:00Z'}, status: {lastScheduleTime: '%s'}}",
		clock.Format(time.RFC3339)))}
	g := guard{ran: now}
	if check != nil {
		if at := check.Status.LastObservationTime; at != nil {
			g.observed = at.Time
		}
		text, err := json.Marshal(check.Status)
		if err != nil {
			panic(err)
		}
		status, path := parsed(string(text)), []string{"status"}
		if p.isWrapped {
			path = []string{"status", "atProvider", "manifest", "status"}
		}
		req.Observed = maps.Clone(req.Observed)
		req.Observed[checkComponent] = req.Observed[checkComponent].With(encoded.Of(status).Value(), path...)
	}
	out := map[string]guard{}
	for _, c := range hypervisor.New().Run(req).Conditions {
		g.open, g.reason, g.message = c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE, c.GetReason(), c.GetMessage()
		out[c.GetType()] = g
	}
	return out
}

// names reports whether the message of CordonedNodesEvacuated contains a node.
func (g guard) names(node string) bool {
	list, found := strings.CutPrefix(g.message, "no servers are on ")
	return found && slices.Contains(strings.Split(list, ", "), node)
}
