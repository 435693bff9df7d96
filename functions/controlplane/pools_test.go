package controlplane

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

const (
	// storageClaim and storageXR are a StorageCluster that permits the namespace.
	storageClaim = `{metadata: {namespace: storage, name: ceph}, spec: {allowedNamespaces: [tenant-a], resourceRef: {name: ceph-x}}}`
	storageXR    = `{spec: {claimRef: {namespace: storage, name: ceph}}, status: {instance: storage-ceph-1, access: {fsid: f, monitors: ["[v2:10.0.0.1:3300]"],
  networks: [10.0.0.0/24], consumers: [{name: shared, pools: [{name: images, pool: images, purpose: images}, {name: volumes, pool: volumes, purpose: volumes},
  {name: backups, pool: backups, purpose: backups}], clients: [{service: glance, user: glance, secretName: key-glance, secretUUID: u},
  {service: cinder, user: cinder, secretName: key-cinder, secretUUID: v}, {service: cinder-backup, user: cinder-backup, secretName: key-backup, secretUUID: w}]}]}}}`
	// pooledSpec uses pools in all possible places.
	pooledSpec = `{services: {glance: {enabled: true, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]},
  cinder: {enabled: true, backends: [{name: ceph-rbd, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}],
  backup: {ceph: {clusterRef: {namespace: storage, name: ceph}, pool: backups}}}}}`
)

// pooledInput returns the input of derive with a StorageCluster. Empty objects do not exist.
func pooledInput(
	t *testing.T, spec, claim, xr string, observed map[string]*structpb.Struct,
) function.Input[controlplanev1.ControlPlaneCluster] {
	t.Helper()
	in := input(t, strings.ReplaceAll(spec, "\n", ""), queued, observed)
	for name, text := range map[string]string{"storage-claim.storage.ceph": claim, "storage.storage.ceph": xr} {
		in.Required[name] = []*structpb.Struct{}
		if text != "" {
			in.Required[name] = append(in.Required[name], structOf(t, fields(t, text)))
		}
	}
	return in
}

// client returns the connection settings of a pool.
func client(name, pool, user, secret, uuid string) common.StorageClient {
	return common.StorageClient{
		Name: name, Ref: "storage/ceph/" + pool, Instance: "storage-ceph-1", FSID: "f", Monitors: []string{"[v2:10.0.0.1:3300]"},
		Networks: []string{"10.0.0.0/24"}, Pool: pool, User: user, SecretName: secret, SecretUUID: uuid,
	}
}

// TestPools checks that services get the connection settings of their pools, and read copies of the keys of their own users only.
func TestPools(t *testing.T) {
	m, err := derive(pooledInput(t, pooledSpec, storageClaim, storageXR, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []common.StorageClient{
		client("glance.stores.main", "images", "glance", "key-glance", "u"),
		client("cinder.backends.ceph-rbd", "volumes", "cinder", "key-cinder", "v"),
		client("cinder.backup", "backups", "cinder-backup", "key-backup", "w"),
	}
	if diff := cmp.Diff(want, m.StorageStatus()); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
	var requests []string
	for _, set := range m.PoolKeys {
		if set.From != "storage-ceph-1" {
			t.Errorf("keys are read of namespace %s", set.From)
		}
		for _, w := range set.Requests {
			requests = append(requests, w.Name+" "+strings.Join(w.Keys, " "))
		}
	}
	if diff := cmp.Diff([]string{"key-backup userKey", "key-cinder userKey", "key-glance userKey"}, requests); diff != "" {
		t.Errorf("the keys (-want +got):\n%s", diff)
	}
	access := &controlplanev1.HypervisorAccess{}
	for _, s := range m.Services {
		if s.Name == cinderv1.ServiceName {
			s.Model.Publish(access)
		}
		for _, c := range m.StorageClients(s.Name) {
			if !strings.HasPrefix(c.SecretName, "storage-b5f45374-key-") {
				t.Errorf("%s reads %s", s.Name, c.SecretName)
			}
		}
	}
	wantVolumes := []controlplanev1.VolumeAccess{{Backend: "ceph-rbd", User: "cinder", SecretName: "cinder-volume-ceph-rbd", SecretUUID: "v"}}
	if diff := cmp.Diff(wantVolumes, access.Volumes); diff != "" {
		t.Errorf("volumes of hypervisors (-want +got):\n%s", diff)
	}
}

// TestRequestsCompositeOnlyWithConsent checks that each claim is requested once, and that its composite resource is requested only if it
// permits this. Disabled services request nothing.
func TestRequestsCompositeOnlyWithConsent(t *testing.T) {
	const off = `{services: {glance: {enabled: false, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]}}}`
	claim := wire.Selector{APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "StorageCluster", Namespace: "storage", Name: "ceph"}
	xr := wire.Selector{APIVersion: "crossplane.c5c3.io/v1alpha1", Kind: "XStorageCluster", Name: "ceph-x"}
	for name, tc := range map[string]struct {
		reason, spec, claim string
		want                map[string]wire.Selector
	}{
		"First":    {"Nothing is observed.", pooledSpec, "", map[string]wire.Selector{"storage-claim.storage.ceph": claim}},
		"Consents": {"The claim references its composite resource.", pooledSpec, storageClaim, map[string]wire.Selector{"storage-claim.storage.ceph": claim, "storage.storage.ceph": xr}},
		"Stranger": {
			"The StorageCluster does not permit the namespace.", pooledSpec, strings.Replace(storageClaim, "[tenant-a]", "[tenant-b]", 1),
			map[string]wire.Selector{"storage-claim.storage.ceph": claim},
		},
		"Off": {"No pools are used.", off, storageClaim, map[string]wire.Selector{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, requires(pooledInput(t, tc.spec, tc.claim, "", nil))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnknownPoolChangesNoService checks that a pool without settings delays a new service and rejects an edit of an existing one. Previous
// settings remain in effect, and the claim reports the problem.
func TestUnknownPoolChangesNoService(t *testing.T) {
	withoutStatus := `{spec: {claimRef: {namespace: storage, name: ceph}}}`
	existing := map[string]*structpb.Struct{"glance": structOf(t, fields(t, "{metadata: {name: glance}, spec: {}}"))}
	for name, tc := range map[string]struct {
		reason, claim, xr string
		observed          map[string]*structpb.Struct
		remembers         bool
		waits             string
		field, message    string
	}{
		"New":     {reason: "The service waits.", claim: storageClaim, xr: withoutStatus, waits: "waits for storage cluster ceph of namespace storage to publish its pools"},
		"None":    {reason: "The reference may be wrong.", field: ".clusterRef", message: "there is no StorageCluster ceph in namespace storage"},
		"Edit":    {reason: "Glance exists without a pool.", claim: storageClaim, xr: withoutStatus, observed: existing, message: "the previous configuration stays in effect until then"},
		"Silent":  {reason: "The settings were known before.", claim: storageClaim, xr: withoutStatus, observed: existing, remembers: true, waits: "waits for storage cluster ceph"},
		"Revoked": {reason: "The claim was permitted before.", observed: existing, remembers: true, waits: "spec.services.glance.stores[0].ceph.clusterRef: there is no StorageCluster"},
		"Known":   {reason: "The pool is available.", claim: storageClaim, xr: storageXR, remembers: true},
	} {
		t.Run(name, func(t *testing.T) {
			const spec = `{services: {glance: {enabled: true, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]}}}`
			in := pooledInput(t, spec, tc.claim, tc.xr, tc.observed)
			previous := client("glance.stores.main", "images", "glance", "key-glance", "u")
			if tc.remembers {
				in.XR.Status.Storage = []common.StorageClient{previous}
			}
			m, err := derive(in)
			if tc.message != "" {
				requireFieldError(t, tc.reason, err, "spec.services.glance.stores[0].ceph"+tc.field, tc.message)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := composed(t, m, pools)["storage-glance"].Ready(nil)
			if waits := got.Reason == "StorageNotReady"; waits != (tc.waits != "") || waits && !strings.HasPrefix(got.Message, tc.waits) {
				t.Errorf("%s\nwaits %+v, want %q", tc.reason, got, tc.waits)
			}
			if tc.remembers {
				if diff := cmp.Diff([]common.StorageClient{previous}, m.StorageStatus()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// poolUsages returns the numbers of composed users and Usages of StorageClusters.
func poolUsages(t *testing.T, m *model) (users, usages int) {
	t.Helper()
	all := composed(t, m, pools)
	for name := range all {
		if user, ok := strings.CutSuffix(name, "-in-use"); ok {
			usages++
			if _, ok := all[user]; ok {
				users++
			}
		}
	}
	return users, usages
}

// TestKnownStorageClusterHasOneUsage checks that each StorageCluster has one Usage, and that there are none for unknown ones.
func TestKnownStorageClusterHasOneUsage(t *testing.T) {
	m, err := derive(pooledInput(t, pooledSpec, storageClaim, storageXR, nil))
	if err != nil {
		t.Fatal(err)
	}
	if users, retained := poolUsages(t, m); retained != 1 || users != 1 {
		t.Errorf("%d Usages by %d", retained, users)
	}
	m, err = derive(pooledInput(t, pooledSpec, storageClaim, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	if users, retained := poolUsages(t, m); retained+users != 0 {
		t.Errorf("%d Usages of an unknown StorageCluster, by %d", retained, users)
	}
	if diff := cmp.Diff([]tenantsecret.Set(nil), m.PoolKeys); diff != "" {
		t.Errorf("keys of an unknown StorageCluster:\n%s", diff)
	}
}

// TestUnusedPoolKeysRetainedUntilReady checks that copies of keys that no service uses any more are kept until the control plane is ready:
// pods that are not replaced yet read them.
func TestUnusedPoolKeysRetainedUntilReady(t *testing.T) {
	const of = "storage-1157d1d3"
	observed := map[string]*structpb.Struct{}
	for _, name := range []string{of + "-keys-" + of + "-key", of + "-keys-store", of, "storage-glance"} {
		observed[name] = structOf(t, fields(t, "{metadata: {name: "+name+"}, spec: {}}"))
	}
	m, err := derive(pooledInput(t, `{services: {glance: {enabled: false}}}`, "", "", observed))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, set := range m.PoolKeys {
		for _, r := range slices.Concat(set.Stages()...) {
			got = append(got, r.Name+r.Revisions)
		}
	}
	want := []string{of + "-keys-" + of, of + "-keys-push", of + "-keys-workload"}
	if diff := cmp.Diff(want, got); diff != "" || !m.UsesPools() {
		t.Errorf("revisions that are kept (-want +got), in use: %v:\n%s", m.UsesPools(), diff)
	}
}
