package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// A subject is a kind of composite resource whose function is checked for the invariants.
type subject struct {
	// name in reports: the kind that users create.
	name string
	// folder of the kind, and its function.
	folder string
	runner function.Runner
	// draw draws a composite resource, and the resources that its Composition requires.
	draw func(t *rapid.T) (xr object, required map[string][]*structpb.Struct)
	// claimed: the composite resource has a tenant's claim.
	claimed bool
	// keep lists fields of the spec that no update changes: data does not move.
	keep []string
	// revisions are the beginnings of the names of resources that have revisions.
	revisions []string
	// lingering are prefixes of resources that stay until they are unused, although the spec does not want them any
	// more.
	lingering []string
}

// subjects contains every kind of composite resource. Most services have no settings of their own.
var subjects = func() []*subject {
	out, runners := particular, kinds.Runners()
	for _, k := range kindregistry.Composites() {
		i := slices.IndexFunc(out, func(s *subject) bool { return s.folder == k.Folder })
		if i < 0 {
			i, out = len(out), append(out, &subject{
				name: k.Kind, folder: k.Folder, keep: []string{"target"}, revisions: []string{"config-"},
				draw: genService(definedKinds[k.Folder], k.Folder, k.Folder[:1], k.Folder+".eu"),
			})
		}
		out[i].runner = runners[k.Composite().GroupKind().String()]
	}
	return out
}()

// particular are the kinds with settings of their own.
var particular = []*subject{
	{
		name:      "ControlPlane",
		folder:    "controlplane",
		draw:      genControlPlane,
		claimed:   true,
		keep:      []string{"claimRef", "cluster"},
		lingering: []string{"database-proxy", "database-proxy-monitor", "maxscale-network-policy", "maxscale-exporter-network-policy"},
		revisions: append([]string{
			"claim-secrets-tenant-", "claim-secrets-push-", "claim-secrets-workload-",
			"claim-pull-secrets-claim-pull-", "claim-pull-secrets-push-", "claim-pull-secrets-workload-",
			"platform-pull-secrets-platform-pull-", "platform-pull-secrets-push-", "platform-pull-secrets-workload-",
		}, keyRevisions()...),
	},
	{
		name:      "Keystone",
		folder:    "keystone",
		draw:      genService(definedKinds["keystone"], "keystone", "k", "identity.eu"),
		keep:      []string{"target"},
		revisions: []string{"config-", "bootstrap-"},
	},
	{
		name:   "IdentityCatalog",
		folder: "catalog",
		draw:   genCatalog,
		keep:   []string{"target"},
	},
	{
		name:      "Barbican",
		folder:    "barbican",
		draw:      genService(definedKinds["barbican"], "barbican", "k", "keys.eu"),
		keep:      []string{"target", "vault"}, // Secrets stay where they are.
		revisions: []string{"config-"},
	},
	{
		name:      "Cinder",
		folder:    "cinder",
		draw:      genService(definedKinds["cinder"], "cinder", "b", "volumes.eu"),
		keep:      []string{"target", "backends", "coordination", "backup"}, // Volumes and backups stay where they are.
		revisions: []string{"config-", "programs-", "volume-types-"},
	},
	{
		name:      "NovaCell",
		folder:    "novacell",
		draw:      genService(definedKinds["novacell"], "nova-cell1", "n-c", "compute.eu-a"),
		keep:      []string{"target", "cell", "database", "queue"}, // Its Nova sets the location of its servers, once.
		revisions: []string{"config-"},
	},
	{
		name:      "OVNCluster",
		folder:    "ovn",
		draw:      genService(definedKinds["ovn"], "ovn", "o", "networks.eu"),
		keep:      []string{"target", "clusterDomain", "northbound", "southbound"},
		revisions: []string{"scripts-"},
	},
	{
		name:    "HypervisorCluster",
		folder:  "hypervisor",
		draw:    genHypervisors,
		claimed: true,
		keep:    []string{"claimRef", "controlPlaneRef", "cell", "storage", "cluster"},
		revisions: []string{
			"control-plane-secrets-control-plane-", "control-plane-secrets-push-", "control-plane-secrets-workload-",
			"platform-pull-secrets-platform-pull-", "platform-pull-secrets-push-", "platform-pull-secrets-workload-",
			"storage-secrets-storage-key-", "storage-secrets-push-", "storage-secrets-workload-",
			"volume-secrets-push-", "volume-secrets-workload-",
			"nova-compute-config-", "ovn-controller-config-", "metadata-config-",
			"openvswitch-agent-config-", "l3-agent-config-", "dhcp-agent-config-",
			"sriov-agent-config-",
		},
	},
	{
		name:      "KeystoneService",
		folder:    "keystoneservice",
		draw:      genKeystoneService,
		claimed:   true,
		keep:      []string{"claimRef", "controlPlaneRef"},
		revisions: meters,
	},
	{
		name:    "OpenStackCluster",
		folder:  "cloud",
		draw:    genCloud,
		claimed: true,
		keep:    []string{"claimRef", "controlPlane", "storage"},
	},
	{
		name:   "WorkloadCluster",
		folder: "workloadcluster",
		draw:   genWorkloadCluster,
		keep:   []string{"source"},
	},
	{
		name:    "StorageCluster",
		folder:  "storage",
		draw:    genStorage,
		claimed: true,
		keep:    []string{"claimRef", "cluster", "nodes", "deviceSelector", "pools", "consumers", "filesystems", "objectStores", "replicationFactor", "allowDataLoss"},
		revisions: []string{
			"platform-pull-secrets-platform-pull-", "platform-pull-secrets-push-", "platform-pull-secrets-workload-",
			"keystone-logins-keystone-", "keystone-logins-push-", "keystone-logins-workload-",
		},
	},
}

// genControlPlane draws a claim on a platform, and converts it to a composite resource as Crossplane does. Some have no
// claim.
func genControlPlane(t *rapid.T) (object, map[string][]*structpb.Struct) {
	namespace := rapid.SampledFrom([]string{"tenant-a", "t", "trial-" + strings.Repeat("x", 57)}).Draw(t, "namespace")
	name := rapid.SampledFrom([]string{"cloud", "c", "eu.cloud", strings.Repeat("y", 63)}).Draw(t, "name")
	claim := claims.draw(t, namespace, name)
	spec := claim["spec"].(object)
	delete(spec, "compositeDeletePolicy") // Crossplane's, of claims only.
	if rapid.IntRange(0, 9).Draw(t, "no claim") != 9 {
		spec["claimRef"] = object{"apiVersion": claims.apiVersion, "kind": claims.kind, "namespace": namespace, "name": name}
	}
	xr := object{
		"apiVersion": claims.apiVersion, "kind": claims.composite, "metadata": serverOwned(object{"name": name + "-x7k2p"}), "spec": spec,
	}
	platform := platforms.draw(t, "", "default")
	if spec := platform["spec"].(object); spec["limits"] == nil {
		spec["limits"] = list{allowAll}
	}
	withClusters(platform)
	if strings.Contains(fmt.Sprint(spec), "name:ssd") { // Its keys come from a namespace without the claim's SecretStore.
		put(platform, "ClusterSecretStore", "spec", "secretStore", "kind")
		if global, _ := spec["global"].(object); global["secretStore"] != nil {
			put(spec, "ClusterSecretStore", "global", "secretStore", "kind")
		}
	}
	required := admission.Requirements()
	required["platform"] = []*structpb.Struct{structOf(t, platform)}
	if err := aroundPools(required); err != nil {
		t.Fatal(err)
	}
	return xr, required
}

// withClusters adds clusters to a platform, and a store through which Secrets get there.
func withClusters(platform object) object {
	spec := platform["spec"].(object)
	spec["clusters"] = list{
		object{"name": "east", "providerConfig": "east", "allowedNamespaces": list{"*"}},
		object{"name": "here", "providerConfig": "in-cluster", "allowedNamespaces": list{"nobody", "*"}},
	}
	if _, ok := spec["secretStore"]; !ok {
		spec["secretStore"] = object{"name": "store", "kind": "ClusterSecretStore"}
	}
	return platform
}

// genService draws a service's composite resource with one of some names.
func genService(k *definedKind, names ...string) func(*rapid.T) (object, map[string][]*structpb.Struct) {
	return func(t *rapid.T) (object, map[string][]*structpb.Struct) {
		xr := k.draw(t, "tenant-a-cloud-1a2b3", rapid.SampledFrom(names).Draw(t, "name"))
		serverOwned(xr["metadata"].(object))
		return xr, nil
	}
}

func genCatalog(t *rapid.T) (object, map[string][]*structpb.Struct) {
	xr, required := genService(definedKinds["catalog"], "catalog", "c")(t)
	// A claim without any service has nothing to check.
	spec := xr["spec"].(object)
	spec["services"] = true
	if _, external := spec["shared"]; external {
		delete(spec, "bootstrapResources") // Nothing was bootstrapped in it.
	}
	return xr, required
}

// A simulation is a composite resource and the observed state of its composed resources.
type simulation struct {
	*subject

	xr       object
	required map[string][]*structpb.Struct
	observed map[string]*structpb.Struct
	// created are the objects created from desired ones, by the hash of the desired ones.
	created map[string]*structpb.Struct
	// hashed are desired objects, in bytes, by name and hash.
	hashed map[string][]byte
	// held: the spec is invalid, and the last valid one is composed.
	held bool
	// refusable: the observed state is one that the function may reject.
	refusable bool
	steps     []step
}

// A step is a call with a successful response: the observed and desired resources, by name.
type step struct {
	observed, desired map[string]bool
	// latest is desired without older revisions that are only retained.
	latest map[string]bool
	ready  bool
}

func newSimulation(t *rapid.T, s *subject) *simulation {
	w := &simulation{
		subject: s, observed: map[string]*structpb.Struct{}, created: map[string]*structpb.Struct{}, hashed: map[string][]byte{},
	}
	w.xr, w.required = s.draw(t)
	return w
}

// copy returns a copy of w that can be changed independently: observed objects are replaced, and never changed.
func (w *simulation) copy() *simulation {
	c := *w
	c.xr, c.observed = maps.Clone(w.xr), maps.Clone(w.observed)
	return &c
}

// marker is a secret: it is in every place that a function could read, and must be in no response.
const marker = "correct-horse-battery-staple"

// request returns the request that Crossplane would send now. Connection details and credentials contain secrets, as in
// reality.
func (w *simulation) request(t *rapid.T) *fnv1.RunFunctionRequest {
	secret := map[string][]byte{"password": []byte(marker)}
	req := &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: structOf(t, w.xr), ConnectionDetails: secret},
			Resources: map[string]*fnv1.Resource{},
		},
		RequiredResources: map[string]*fnv1.Resources{},
	}
	for name, o := range w.observed {
		req.Observed.Resources[name] = &fnv1.Resource{Resource: o, ConnectionDetails: secret}
	}
	for name, items := range w.required {
		rs := &fnv1.Resources{}
		for _, i := range items {
			rs.Items = append(rs.Items, &fnv1.Resource{Resource: i})
		}
		req.RequiredResources[name] = rs
	}
	req.Credentials = map[string]*fnv1.Credentials{"cloud": {Source: &fnv1.Credentials_CredentialData{CredentialData: &fnv1.CredentialData{Data: secret}}}}
	return req
}

// sent returns a request after a round trip: composed resources are bytes.
func sent(t *rapid.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	b, err := proto.Marshal(req)
	if err != nil {
		t.Fatalf("cannot send the request: %v", err)
	}
	out := &fnv1.RunFunctionRequest{}
	if err := wire.UnmarshalRequest(b, out); err != nil {
		t.Fatalf("cannot receive the request: %v", err)
	}
	return out
}

// run returns the function's response to a request.
func (s *subject) run(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	return s.runner.Run(wire.RequestOf(req)).Message()
}

// explain returns the response with its plan, which may be missing.
func (s *subject) explain(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, compose.Plan, error) {
	rsp, plan, err := s.runner.Explain(wire.RequestOf(req))
	if rsp == nil {
		return nil, plan, err
	}
	return rsp.Message(), plan, err
}

// reconcileUntilStable makes every desired resource exist, up to date and ready, and removes all others.
func (w *simulation) reconcileUntilStable(t *rapid.T, rsp *fnv1.RunFunctionResponse) {
	desired := rsp.GetDesired().GetResources()
	maps.DeleteFunc(w.observed, func(name string, _ *structpb.Struct) bool { return desired[name] == nil })
	for name, r := range desired {
		body := encoded.Of(r.GetResource())
		key := body.Hash()
		if w.created[key] == nil {
			o, err := simulate.Finish(simulate.Exist(body))
			if err != nil {
				t.Fatalf("cannot make %s ready: %v", name, err)
			}
			m := o.Map()
			for _, part := range []object{m, inside(m)} {
				if part != nil {
					serverOwned(part["metadata"].(object))
				}
			}
			w.created[key] = structOf(t, m)
		}
		w.observed[name] = w.created[key]
	}
}

// serverOwned adds the metadata that an API server adds.
func serverOwned(meta object) object {
	meta["uid"] = "0b5f7a3c-0c1e-4a53-9d3f-7f6f1f0c5b1e"
	meta["resourceVersion"] = "123456789"
	meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
	meta["managedFields"] = list{object{"manager": "someone", "fieldsV1": object{"f:spec": object{}}}}
	if meta["generation"] == nil {
		meta["generation"] = 1.0
	}
	return meta
}

// inside returns the object that an observed Object reports from its cluster; nil if there is none, or o is no Object.
func inside(o object) object {
	if kind, _ := o["kind"].(string); kind != "Object" {
		return nil
	}
	status, _ := o["status"].(object)
	atProvider, _ := status["atProvider"].(object)
	manifest, _ := atProvider["manifest"].(object)
	return manifest
}

// names returns the names of the observed resources, sorted.
func (w *simulation) names() []string { return slices.Sorted(maps.Keys(w.observed)) }

// isRevision reports whether a name is the name of a revision.
func (w *simulation) isRevision(name string) bool {
	return slices.ContainsFunc(w.revisions, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// replaces reports whether another revision of the same resource is observed.
func (w *simulation) replaces(name string) bool {
	for _, prefix := range w.revisions {
		for other := range w.observed {
			if strings.HasPrefix(name, prefix) && strings.HasPrefix(other, prefix) {
				return true
			}
		}
	}
	return false
}

func structOf(t *rapid.T, m object) *structpb.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatalf("cannot make a Struct: %v", err)
	}
	return s
}

func metadata(s *structpb.Struct) map[string]*structpb.Value {
	return s.GetFields()["metadata"].GetStructValue().GetFields()
}

// identity returns the identity of an object in an API server.
func identity(s *structpb.Struct) string {
	return compose.KindOf(s).GroupKind().String() + " " + metadata(s)["namespace"].GetStringValue() + "/" + metadata(s)["name"].GetStringValue()
}
