package storagepool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

const (
	claim = `
metadata: {namespace: storage, name: ceph}
spec: {allowedNamespaces: ["tenant-*"], resourceRef: {name: ceph-x}}
`
	composite = `
spec:
  claimRef: {namespace: storage, name: ceph}
  consumers: [{name: one, controlPlaneRef: {namespace: tenant-a, name: cloud}}]
status:
  instance: ceph-1
  access:
    fsid: f
    monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", "[v2:10.0.0.2:3300]"]
    networks: [10.0.0.0/24]
    consumers:
    - name: one
      controlPlaneRef: {namespace: tenant-a, name: cloud}
      pools: [{name: images, pool: one-images, purpose: images}, {name: volumes, pool: one-volumes, purpose: volumes}]
      clients: [{service: glance, user: one-glance, secretName: s, secretUUID: u}]
`
)

var ref = common.StoragePool{ClusterRef: common.ClaimReference{Namespace: "storage", Name: "ceph"}, Pool: "images"}

func parsed(t *testing.T, text string) []*structpb.Struct {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return []*structpb.Struct{s}
}

func TestFind(t *testing.T) {
	without := func(text string) string { return strings.Replace(composite, text, "", 1) }
	shared := strings.Replace(without(`  consumers: [{name: one, controlPlaneRef: {namespace: tenant-a, name: cloud}}]`),
		"      controlPlaneRef: {namespace: tenant-a, name: cloud}\n", "", 1)
	client := &common.StorageClient{
		Ref: "storage/ceph/images", FSID: "f", Monitors: []string{"[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", "[v2:10.0.0.2:3300]"},
		Networks: []string{"10.0.0.0/24"}, Pool: "one-images", User: "one-glance", Instance: "ceph-1", SecretName: "s", SecretUUID: "u",
	}
	for name, tc := range map[string]struct {
		reason, claim, composite, namespace, name, pool string
		want                                            *common.StorageClient
		waits, wantErr                                  string
	}{
		"Consumer": {reason: "Its own pools.", want: client},
		"Elsewhere": {
			reason: "It is in another cluster.", composite: strings.Replace(composite, "spec:", "spec:\n  cluster: {ref: {name: west}}", 1),
			want: func() *common.StorageClient { c := *client; c.Cluster = "west"; return &c }(),
		},
		"Friend":   {reason: "A claim of another namespace that is allowed, for the control plane.", namespace: "tenant-b", want: client},
		"Shared":   {reason: "Without consumers, all control planes share the pools.", composite: shared, name: "other", want: client},
		"Stranger": {reason: "It does not consent.", namespace: "others", wantErr: `stores[0].ceph.clusterRef: there is no StorageCluster ceph in namespace storage that claims of namespace "others" may use`},
		"Not back": {
			reason: "The composite resource belongs to another claim.", composite: strings.Replace(composite, "name: ceph}", "name: other}", 1),
			wantErr: "stores[0].ceph.clusterRef: there is no StorageCluster",
		},
		"None":        {reason: "Another control plane of the namespace.", name: "other", wantErr: "stores[0].ceph.clusterRef: the storage cluster ceph of namespace storage has consumers, and control plane other of namespace tenant-a is not among them"},
		"Not bound":   {reason: "Nothing is composed.", claim: strings.Replace(claim, ", resourceRef: {name: ceph-x}", "", 1), waits: "of which nothing is composed yet"},
		"Silent":      {reason: "Nothing is ready.", composite: strings.SplitN(composite, "status:", 2)[0], waits: "to publish its pools"},
		"No pool":     {reason: "It may come.", pool: "fast", waits: "waits for pool fast of"},
		"No user":     {reason: "It comes after its pools.", composite: without("{service: glance, user: one-glance, secretName: s, secretUUID: u}"), waits: "where glance has no user yet"},
		"Other's use": {reason: "Glance may not write there.", pool: "volumes", wantErr: "stores[0].ceph.pool: pool volumes of the storage cluster ceph of namespace storage is not intended for glance"},
	} {
		t.Run(name, func(t *testing.T) {
			or := func(a, b string) string {
				if a == "" {
					return b
				}
				return a
			}
			me := User{
				Namespace: or(tc.namespace, "tenant-a"), Service: storagev1.ServiceGlance,
				ControlPlane: common.ClaimReference{Namespace: "tenant-a", Name: common.ObjectName(or(tc.name, "cloud"))},
			}
			pool := ref
			pool.Pool = or(tc.pool, ref.Pool)
			required := reference.Required{}
			required["storage-claim.storage.ceph"] = parsed(t, or(tc.claim, claim))
			required["storage.storage.ceph"] = parsed(t, or(tc.composite, composite))
			got, waiting, err := Find(required, me, "stores[0].ceph", pool)
			if tc.wantErr != "" {
				if !invalid.Is(err) || !strings.HasPrefix(err.Error(), tc.wantErr) {
					t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if err != nil || !strings.Contains(waiting, tc.waits) || (waiting == "") != (tc.waits == "") {
				t.Errorf("%s\nwaits %q, want %q; %v", tc.reason, waiting, tc.waits, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRequires checks that the claim is required, and its composite resource only if the claim allows it.
func TestRequires(t *testing.T) {
	first := wire.Selector{APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "StorageCluster", Namespace: "storage", Name: "ceph"}
	for name, tc := range map[string]struct {
		reason, namespace string
		required          reference.Required
		want              map[string]wire.Selector
	}{
		"First":    {"Nothing was read yet.", "tenant-a", nil, map[string]wire.Selector{"storage-claim.storage.ceph": first}},
		"Stranger": {"It is none of its business.", "others", reference.Required{"storage-claim.storage.ceph": parsed(t, claim)}, map[string]wire.Selector{"storage-claim.storage.ceph": first}},
		"Then": {"It consents.", "tenant-a", reference.Required{"storage-claim.storage.ceph": parsed(t, claim)}, map[string]wire.Selector{
			"storage-claim.storage.ceph": first, "storage.storage.ceph": {APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "XStorageCluster", Name: "ceph-x"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]wire.Selector{}
			Requires(tc.required, tc.namespace, ref, got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
