package invariants

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	kubenames "github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// keystoneServiceSettings apply to the specs of custom services.
var keystoneServiceSettings = definedKind{
	fix: func(spec object) {
		spec["controlPlaneRef"] = object{"namespace": "tenant-a", "name": "cloud"}
		c, ok := spec["catalog"].(object)
		if ok {
			c["type"] = "metering"
		}
		more, _ := spec["additionalCatalog"].(list)
		if len(more) == 0 || !ok {
			delete(spec, "additionalCatalog")
			return
		}
		more[0].(object)["type"] = "s3"
		spec["additionalCatalog"] = more[:1]
	},
}

// meters begin the names of the resources that have revisions, by where the claim is.
var meters = []string{kubenames.Instance("tenant-a", "meter") + "-meter-", kubenames.Instance("t", "meter") + "-meter-"}

// customServices sets a unique name and folder for each custom service that a control plane admits.
func customServices(spec object) {
	all, _ := spec["keystoneServices"].(list)
	for i, g := range all {
		g, _ := g.(object)
		g["namespace"], g["name"] = "telemetry", fmt.Sprintf("service-%d", i)
		if g["type"] != nil {
			g["type"] = fmt.Sprintf("type-%d", i)
		}
		if g["additionalTypes"] != nil {
			g["additionalTypes"] = list{fmt.Sprintf("more-%d", i)}
		}
	}
}

// letIn are the control plane's claim and composite resource.
const letIn = `
control-plane-claim:
  apiVersion: crossplane.c5c3.io/v1alpha1
  kind: ControlPlaneCluster
  metadata: {namespace: tenant-a, name: cloud}
  spec:
    resourceRef: {name: cloud-x}
    keystoneServices:
    - {namespace: tenant-a, name: meter, type: metering, additionalTypes: [s3], allowAdministration: true}
    - {namespace: t, name: meter, type: metering, additionalTypes: [s3], allowAdministration: true}
control-plane:
  apiVersion: crossplane.c5c3.io/v1alpha1
  kind: XControlPlaneCluster
  metadata: {name: cloud-x}
  spec: {claimRef: {namespace: tenant-a, name: cloud}, openStackRelease: "2025.2", global: {region: eu}}
  status:
    instance: cloud
    endpoints: [{service: keystone, internal: "https://keystone.cloud.svc:5000/v3"}]
    components: [{name: catalog, phase: Ready}]
`

// aroundKeystoneService returns the required resources that the function requests.
func aroundKeystoneService(platform object) (map[string][]*structpb.Struct, error) {
	existing := map[string]object{}
	if err := yaml.UnmarshalStrict([]byte(letIn), &existing); err != nil {
		return nil, err
	}
	existing["platform"] = platform
	required := admission.Requirements()
	for name, o := range existing {
		s, err := structpb.NewStruct(o)
		if err != nil {
			return nil, err
		}
		required[name] = []*structpb.Struct{s}
	}
	return required, nil
}

func genKeystoneService(t *rapid.T) (object, map[string][]*structpb.Struct) {
	namespace := rapid.SampledFrom([]string{"tenant-a", "t"}).Draw(t, "namespace")
	spec := keystoneServices.draw(t, namespace, "meter")["spec"].(object)
	delete(spec, "compositeDeletePolicy") // Crossplane's, of claims only.
	spec["claimRef"] = object{"apiVersion": keystoneServices.apiVersion, "kind": keystoneServices.kind, "namespace": namespace, "name": "meter"}
	required, err := aroundKeystoneService(platforms.draw(t, "", "default"))
	if err != nil {
		t.Fatal(err)
	}
	return object{
		"apiVersion": keystoneServices.apiVersion, "kind": keystoneServices.composite, "metadata": serverOwned(object{"name": "meter-x7k2p"}),
		"spec": spec,
	}, required
}

// keystoneService returns the one with the most features from its function's tests.
func keystoneService(t *testing.T) *simulate.Cluster {
	t.Helper()
	xr := composite(t, keystoneServices, "meter", "limes")
	delete(xr.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	ref, err := structpb.NewStruct(object{"namespace": "tenant-a", "name": "meter"})
	if err != nil {
		t.Fatal(err)
	}
	spec := xr.GetFields()["spec"].GetStructValue()
	spec.Fields["claimRef"] = structpb.NewStructValue(ref)
	spec.GetFields()["catalog"].GetStructValue().Fields["type"] = structpb.NewStringValue("metering")
	required, err := aroundKeystoneService(object{"spec": object{"domain": "example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	return &simulate.Cluster{XR: xr, Kinds: kinds.Runners(), Required: required}
}

// keystoneServiceOrders: the account exists before the objects created from it, and the companion may read their
// sources.
var keystoneServiceOrders = []order{
	{first: `ConfigMap [^-]+-keystone`, then: `((Role|RoleBinding)\.rbac.* .*-companion|NetworkPolicy.*|ConfigMap .*-in-use)`, why: "there is a control plane then"},
	{first: `ConfigMap .*-in-use`, then: `Usage.*`, why: "it looks for its user with a growing backoff"},
	{first: `(ServiceAccount|(Role|RoleBinding)\.rbac.*) .*-[[:xdigit:]]{20}`, then: `SecretStore.*`, why: "it reads with that account"},
	{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `(SecretAggregate|RoleAssignment|EndpointRegion).*`, why: "the companion reads its Secrets"},
	{first: `ExternalSecret.* .*-user`, then: `User\.openstack\.k-orc\.cloud .*`, why: "it has that password"},
	{first: `ExternalSecret.* .*-user`, then: `SecretAggregate.*`, why: "it is made of it"},
	{first: `(User|Role)\.openstack\.k-orc\.cloud .*`, then: `RoleAssignment.*`, why: "it refers to it"},
	{first: `Endpoint\.openstack\.k-orc\.cloud .*`, then: `EndpointRegion.*`, why: "it refers to it"},
	{first: `SecretAggregate.*`, then: `ExternalSecret.* .*-keystone`, why: "it is a copy of its Secret"},
	{first: `RoleAssignment.*`, then: `ExternalSecret.* .*-keystone`, why: "its readers log in, and a token keeps the roles of its creation"},
	{first: `SecretStore.*`, then: `ExternalSecret.* .*-keystone`, why: "it is read by it"},
}

// invalidKeystoneServices are the invalid changes of a custom service.
var invalidKeystoneServices = map[string]invalidChange{
	"a control plane that is not there": {typ: respond.SpecValid, wantMessage: "spec.controlPlaneRef: there is no", make: func(w *simulation, _ object) {
		w.require("control-plane-claim")
		delete(w.observed, "control-plane")
	}},
	"a service of OpenStack's own": in(object{
		"type": "compute", "name": "nova", "endpoints": object{"public": "https://a.example.com", "internal": "https://a.b.svc"},
	}, "spec.catalog.type: ", "catalog"),
	"a second place of OpenStack's own": {typ: respond.SpecValid, wantMessage: "spec.additionalCatalog[0].type: ", make: func(_ *simulation, spec object) {
		ends := object{"public": "https://a.example.com", "internal": "https://a.b.svc"}
		spec["catalog"] = object{"type": "metering", "name": "ceilometer", "endpoints": ends}
		spec["additionalCatalog"] = list{object{"type": "network", "name": "neutron", "endpoints": ends}}
	}},
	"no platform": {typ: respond.Composed, wantMessage: "there is no PlatformConfig", make: func(w *simulation, _ object) { w.require("platform") }},
}
