package invariants

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	kubenames "github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// pools returns a constraint with pools of a StorageCluster that all tenants may use, by purpose.
func pools(purpose string) constraint {
	return sample(
		object{"clusterRef": object{"namespace": "storage", "name": "ceph"}, "pool": purpose},
		object{"clusterRef": object{"namespace": "tenant-a", "name": "ssd"}, "pool": purpose},
	)
}

// storageInstances are the namespaces of the StorageClusters.
var storageInstances = map[string]string{"storage.ceph": "storage-ceph-1a2b3", "tenant-a.ssd": "tenant-a-ssd-1a2b3"}

// storageClusters are the clusters that they are in, where that is not the management cluster.
var storageClusters = map[string]string{"tenant-a.ssd": ", cluster: {ref: {name: east}}"}

// keyRevisions returns prefixes of the copies of users' keys.
func keyRevisions() []string {
	var out []string
	for _, instance := range storageInstances {
		of := "storage-" + kubenames.Hash(8, instance)
		out = append(out, of+"-keys-"+of+"-", of+"-keys-push-", of+"-keys-workload-")
	}
	return out
}

// aroundPools adds the required resources of a claim with pools.
func aroundPools(required map[string][]*structpb.Struct) error {
	for ref, instance := range storageInstances {
		for name, text := range map[string]string{
			"storage-claim." + ref: `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {namespace: %[1]s, name: %[2]s}
spec: {allowedNamespaces: ["*"], resourceRef: {name: %[2]s-x}}
`,
			"storage." + ref: `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XStorageCluster
metadata: {name: %[2]s-x}
spec: {claimRef: {namespace: %[1]s, name: %[2]s}%[4]s}
status:
  instance: %[3]s
  access:
    fsid: 0f7a0b1c-0c1e-4a53-9d3f-7f6f1f0c5b1e
    monitors: ["[v2:10.3.0.1:3300,v1:10.3.0.1:6789]", "[v2:[fd03::1]:3300]"]
    consumers:
    - name: shared
      pools: [{name: images, pool: images, purpose: images}, {name: volumes, pool: volumes, purpose: volumes}, {name: backups, pool: backups, purpose: backups}, {name: vms, pool: vms, purpose: vms}]
      clients:
      - {service: glance, user: glance, secretName: rook-ceph-client-glance, secretUUID: 0f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}
      - {service: cinder, user: cinder, secretName: rook-ceph-client-cinder, secretUUID: 1f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}
      - {service: cinder-backup, user: cinder-backup, secretName: rook-ceph-client-cinder-backup, secretUUID: 2f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}
      - {service: nova, user: nova, secretName: rook-ceph-client-nova, secretUUID: 3f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e}
`,
		} {
			o := object{}
			namespace, claim, _ := strings.Cut(ref, ".")
			if err := yaml.UnmarshalStrict(fmt.Appendf(nil, text, namespace, claim, instance, storageClusters[ref]), &o); err != nil {
				return err
			}
			s, err := structpb.NewStruct(o)
			if err != nil {
				return err
			}
			required[name] = []*structpb.Struct{s}
		}
	}
	return nil
}

// storageClients adds the connections of a service to each pool that it names.
func storageClients(spec object, locations map[string]object) {
	var out list
	for place, of := range locations {
		if of["ceph"] == nil {
			continue
		}
		out = append(out, object{
			"name": place, "ref": "storage/ceph/p", "instance": "storage-ceph-1a2b3", "fsid": "0f7a0b1c-0c1e-4a53-9d3f-7f6f1f0c5b1e",
			"monitors": list{"[v2:10.3.0.1:3300,v1:10.3.0.1:6789]"}, "pool": "p", "user": "u", "podNetwork": len(place)%2 == 0,
			"secretName": "storage-x-rook-ceph-client-u", "secretUUID": "0f7a0b1c-0c1e-8a53-9d3f-7f6f1f0c5b1e",
		})
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(a.(object)["name"].(string), b.(object)["name"].(string)) })
	if delete(spec, "storageClients"); len(out) > 0 {
		spec["storageClients"] = out
	}
}

// ofImages adjusts a Glance to the validation rules, and adds connections to its pools.
func ofImages(spec object) {
	stores(spec)
	locations := map[string]object{}
	for _, s := range spec["stores"].(list) {
		s := s.(object)
		locations["stores."+s["name"].(string)] = s
	}
	storageClients(spec, locations)
}

// ofVolumes does the same for Cinder.
func ofVolumes(spec object) {
	validBackends(spec)
	named := map[string]object{}
	for _, b := range spec["backends"].(list) {
		b := b.(object)
		named["backends."+b["name"].(string)] = b
	}
	if backup, ok := spec["backup"].(object); ok {
		named["backup"] = backup
	}
	storageClients(spec, named)
}

// pooled returns the example of a control plane with images and volumes in pools, and its StorageCluster.
func pooled(t *testing.T) *simulate.Cluster {
	t.Helper()
	read := func(file string) []byte {
		claim, err := examples.Files.ReadFile("storage/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}
	storage, err := preview.Run(read("claim"), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	w, err := preview.NewCluster(read("control-plane"), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	w.RequiredResources = storage.Existing
	return w
}

// image returns a Glance with a pool.
func image(pool string) object {
	return object{"enabled": true, "stores": list{object{
		"name": "main", "ceph": object{"clusterRef": object{"namespace": "storage", "name": "ceph"}, "pool": pool},
	}}}
}

// invalidPools are the invalid changes of a control plane with images in a pool.
var invalidPools = map[string]invalidChange{
	"a pool of a missing StorageCluster": {typ: respond.SpecValid, wantMessage: "spec.services.glance.stores[0].ceph.clusterRef: there is no StorageCluster ceph", make: func(w *simulation, spec object) {
		put(spec, image("images"), "services", "glance")
		w.require("storage-claim.storage.ceph")
	}},
	"a pool for something else": {typ: respond.SpecValid, edit: true, wantMessage: "spec.services.glance.stores[0].ceph.pool: pool volumes", make: func(_ *simulation, spec object) {
		put(spec, image("volumes"), "services", "glance")
	}},
}

// poolOrders are the creation orders of services with data in pools.
var poolOrders = []order{
	{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*storage-[0-9a-f]+-keys`, why: "they are in it"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*storage-[0-9a-f]+-keys`, then: `SecretStore\.external-secrets\.io storage-.*`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io storage-.*`, then: `ExternalSecret\.external-secrets\.io storage-.*`, why: "they are read by it"},
	{first: `ExternalSecret\.external-secrets\.io storage-.*`, then: `ConfigMap storage-(glance|cinder)`, why: "a pool without a key is none yet"},
	{first: `ExternalSecret\.external-secrets\.io storage-.*-glance`, then: `Glance\..*`, why: "its pods read it"},
	{first: `ConfigMap storage-glance`, then: `Glance\..*`, why: "its images are kept there"},
	{first: `ExternalSecret\.external-secrets\.io storage-.*-cinder.*`, then: `Cinder\..*`, why: "its pods read it"},
	{first: `ConfigMap storage-cinder`, then: `Cinder\..*`, why: "its volumes are kept there"},
}

// TestRevokedConsentChangesNoObject checks that a StorageCluster that withdraws its consent or is deleted affects no running object: every
// object stays unchanged, and the claim reports the error.
func TestRevokedConsentChangesNoObject(t *testing.T) {
	w := pooled(t)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	existing := w.RequiredResources
	runner := w.Kinds[controlplanev1.CompositeGroupVersionKind.GroupKind().String()]
	previous := runner.Run(w.Request())
	const rejected = "spec.services.glance.stores[0].ceph.clusterRef: "
	for name, tc := range map[string]struct {
		// kind of the changed object, and the change. Nil: it is deleted.
		kind        string
		change      func(o *structpb.Struct)
		wantMessage string
	}{
		"The claim is gone":   {"StorageCluster", nil, rejected + "there is no StorageCluster storage"},
		"Nothing is composed": {"XStorageCluster", nil, "waits for storage cluster storage of namespace tenant-a, of which nothing is composed yet"},
		"Without status": {
			"XStorageCluster", func(o *structpb.Struct) { delete(o.Fields, "status") }, "waits for storage cluster storage of namespace tenant-a to publish its pools",
		},
		"Of another tenant": {
			"XStorageCluster", func(o *structpb.Struct) {
				o.Fields["spec"].GetStructValue().Fields["claimRef"].GetStructValue().Fields["name"] = structpb.NewStringValue("other")
			}, rejected + "there is no StorageCluster storage",
		},
		"It is another consumer's": {
			"XStorageCluster", func(o *structpb.Struct) {
				first := o.Fields["spec"].GetStructValue().Fields["consumers"].GetListValue().Values[0].GetStructValue()
				first.Fields["controlPlaneRef"].GetStructValue().Fields["name"] = structpb.NewStringValue("other")
			}, rejected + "the storage cluster storage of namespace tenant-a has consumers, and control plane production of namespace tenant-a is not among them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.RequiredResources = nil
			for _, o := range existing {
				if o.GetFields()["kind"].GetStringValue() != tc.kind {
					w.RequiredResources = append(w.RequiredResources, o)
				} else if tc.change != nil {
					changed := proto.Clone(o).(*structpb.Struct)
					tc.change(changed)
					w.RequiredResources = append(w.RequiredResources, changed)
				}
			}
			rsp := runner.Run(w.Request())
			for resource, r := range previous.Composed {
				if now, ok := rsp.Composed[resource]; !ok || now.Object.Hash() != r.Object.Hash() {
					t.Errorf("%s exists: %t, and it changed", resource, ok)
				}
			}
			requested := ""
			for _, c := range rsp.Conditions {
				if c.GetType() == "Current" {
					requested = c.GetMessage()
				}
			}
			if !strings.Contains(requested, tc.wantMessage) {
				t.Errorf("the claim reports %q, want %q", requested, tc.wantMessage)
			}
		})
	}
}
