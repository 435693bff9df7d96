package hypervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// inPool is a pool of hypervisors with disks in a pool of storage.
var inPool = more("storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}")

// withStorage is a world with a StorageCluster.
func withStorage(spec, namespace, claim, xr string) *simulate.Cluster {
	return newCluster(spec, namespace, objects(planeClaim, controlPlaneYAML, claim, xr)...)
}

// TestStorageRequiresConsentOfOwner verifies that the StorageCluster must allow the namespace of the hypervisors, and must have the control
// plane as a consumer.
func TestStorageRequiresConsentOfOwner(t *testing.T) {
	const none = `spec.storage.clusterRef: there is no StorageCluster ceph in namespace storage that claims of namespace "friends-x" may use; ` +
		`correct the reference, or ask its owner to add this namespace to spec.allowedNamespaces`
	friends := strings.Replace(storageClaim, "[tenant-a]", "[tenant-a, friends-x]", 1)
	for name, tc := range map[string]struct {
		reason, namespace, claim, xr, spec, wantError string
	}{
		"Own":      {"Both are in the control plane's namespace.", "tenant-a", storageClaim, storageXR, inPool, ""},
		"Friend":   {"Both owners consent.", "friends-x", friends, storageXR, inPool, ""},
		"Stranger": {"The control plane is allowed, and the namespace is not.", "friends-x", storageClaim, storageXR, inPool, none},
		"Consumer": {
			"The namespace is allowed, and the control plane is not a consumer.", "tenant-a", storageClaim,
			strings.Replace(storageXR, "tenant-a, name: cloud}}, ", "tenant-a, name: third}}, ", 1), inPool,
			"spec.storage.clusterRef: the storage cluster ceph of namespace storage has consumers, and control plane cloud of namespace " +
				"tenant-a is not among them; have its owner add it to spec.consumers there",
		},
		"Images": {
			"A user of that pool could delete images.", "tenant-a", storageClaim, storageXR, strings.Replace(inPool, "pool: vms", "pool: images", 1),
			"spec.storage.pool: pool images of the storage cluster ceph of namespace storage is not intended for nova; set a pool with purpose vms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withStorage(tc.spec, tc.namespace, tc.claim, tc.xr)
			err := makeReady(w)
			if tc.wantError != "" {
				if err == nil || err.Error() != tc.wantError {
					t.Errorf("%s\n got %v\nwant %s", tc.reason, err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			role, _ := kind.Desired(t, w)["storage-secrets-role"]["rules"].([]any)
			want := []any{map[string]any{
				"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": []any{"rook-ceph-client-cloud-nova"}, "verbs": []any{"get"},
			}}
			if diff := cmp.Diff(want, role); diff != "" {
				t.Errorf("state of the StorageCluster (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownStorageRetainsRecordedAccess verifies that the recorded access to the pool stays while the StorageCluster reports nothing, or
// does not allow the claim any more, and that the claim reports the reason. Without recorded access, no hypervisor is composed.
func TestUnknownStorageRetainsRecordedAccess(t *testing.T) {
	withoutStatus := reconcileUntil(storageXR, "status:")
	for name, tc := range map[string]struct {
		reason string
		others []*structpb.Struct
		waits  string
	}{
		"Silent":  {"The StorageCluster has no status.", objects(storageClaim, withoutStatus), "waits for storage cluster ceph of namespace storage to publish its pools"},
		"Revoked": {"The permission was revoked.", objects(strings.Replace(storageClaim, "[tenant-a]", "[]", 1), storageXR), "spec.storage.clusterRef: there is no StorageCluster"},
		"Gone":    {"It was deleted.", nil, "spec.storage.clusterRef: there is no StorageCluster"},
		"Pool":    {"The pool was removed.", objects(storageClaim, strings.Replace(storageXR, "name: vms, pool: cloud-vms", "name: disks, pool: d", 1)), "waits for pool vms"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withStorage(inPool, "tenant-a", storageClaim, storageXR)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			before := kind.Desired(t, w)
			w.RequiredResources = append(objects(planeClaim, controlPlaneYAML), tc.others...)
			if _, err := w.Call(func(simulate.Step) {}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, kind.Desired(t, w)); diff != "" {
				t.Errorf("%s (-before +now):\n%s", tc.reason, diff)
			}
			requested := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.GetType() == "Current" {
					requested = c.GetMessage()
				}
			}
			if !strings.Contains(requested, tc.waits) {
				t.Errorf("%s\nmessage %q, want %q", tc.reason, requested, tc.waits)
			}
		})
	}
	w := withStorage(inPool, "tenant-a", storageClaim, withoutStatus)
	for range 10 {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	for resource := range w.Observed {
		if strings.HasPrefix(resource, computeComponent) || strings.HasPrefix(resource, diskKeysName) {
			t.Errorf("%s exists, and the pool is unknown", resource)
		}
	}
}

// TestRejectsChangeOfStorage verifies that a change of storage is rejected even if admission did not reject it, also when the recorded
// state is missing.
func TestRejectsChangeOfStorage(t *testing.T) {
	other := strings.Replace(inPool, "pool: vms", "pool: fast", 1)
	fast := strings.Replace(storageXR, "{name: vms, pool: cloud-vms, purpose: vms}", "{name: vms, pool: cloud-vms, purpose: vms}, {name: fast, pool: cloud-fast, purpose: vms}", 1)
	for name, tc := range map[string]struct {
		reason, before, after string
		forget, wantError     bool
	}{
		"Set":     {reason: "Disks are on nodes.", before: mine, after: inPool, wantError: true},
		"Removed": {reason: "Disks are in the pool.", before: inPool, after: mine, wantError: true},
		"Changed": {reason: "Disks are in another pool.", before: inPool, after: other, wantError: true},
		"Lost":    {reason: "The claim was restored without its status.", before: inPool, after: inPool, forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := withStorage(tc.before, "tenant-a", storageClaim, fast)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			before := kind.Desired(t, w)
			if tc.forget {
				delete(w.XR.GetFields(), "status")
			}
			next := withStorage(tc.after, "tenant-a", storageClaim, fast)
			w.XR.Fields["spec"] = next.XR.GetFields()["spec"]
			_, err := w.Call(func(simulate.Step) {})
			if tc.wantError {
				wantError(t, tc.reason, err, "spec.storage", "existing disks of servers cannot be moved")
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(before, kind.Desired(t, w)); diff != "" {
				t.Errorf("%s (-before +now):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDisksFirst verifies that libvirt on the nodes has the key of the pool before nova-compute is composed, and that no component waits
// for it afterwards.
func TestDisksFirst(t *testing.T) {
	w := withStorage(inPool, "tenant-a", storageClaim, storageXR)
	created := map[string]int{}
	for i := 1; ; i++ {
		done, err := w.Call(func(s simulate.Step) {
			for _, name := range s.New {
				created[name] = i
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
	}
	for _, first := range []string{"storage", "storage-secrets-storage-key-rook-ceph-client-cloud-nova", "volume-keys"} {
		if created[first] == 0 || created[first] >= created["nova-compute"] {
			t.Errorf("%s comes with call %d, nova-compute with call %d", first, created[first], created["nova-compute"])
		}
	}
	w.Observed["volume-keys"] = w.Observed["volume-keys"].With(encoded.Number(0), "status", "numberAvailable")
	w.XR.Fields["spec"] = newCluster(strings.Replace(inPool, "controlPlaneRef", "cpu: {allocationRatio: 2}, controlPlaneRef", 1), "tenant-a").XR.Fields["spec"]
	found := false
	if _, err := w.Call(func(s simulate.Step) {
		for _, name := range s.New {
			found = found || strings.HasPrefix(name, "nova-compute-config-")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Error("new pods of nova-compute would wait for their input")
	}
}
