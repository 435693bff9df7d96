package keyrepository

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
)

// TestBackupObjectsHaveAllFields checks the complete objects for External Secrets. An admission policy of the platform restricts the
// companion to this shape.
func TestBackupObjectsHaveAllFields(t *testing.T) {
	w := &observation{repo: withBackup(fernet()), now: time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC), record: record{Hash: "hash"}}
	owner := map[string]any{
		"apiVersion": "openstack.c5c3.io/v1alpha1", "kind": "KeyRepository", "name": "keystone-fernet-keys", "uid": "repo-uid",
		"controller": true,
	}
	for want, o := range map[string]*unstructured.Unstructured{
		"external-secrets.io/v1alpha1 PushSecret": w.pushSecret(), "external-secrets.io/v1 ExternalSecret": w.externalSecret(),
	} {
		if got := o.GetAPIVersion() + " " + o.GetKind(); got != want || o.GetLabels()["app.kubernetes.io/managed-by"] != "cobaltcore-companion" {
			t.Errorf("%s with labels %v, want %s", got, o.GetLabels(), want)
		}
	}
	if o := w.pushSecret(); o.GetLabels()["openstack.c5c3.io/backup-of"] != w.backupOf() ||
		o.GetAnnotations()["openstack.c5c3.io/backup"] != w.backupID() {
		t.Errorf("labels %v, annotations %v", o.GetLabels(), o.GetAnnotations())
	}
	spec := func(o *unstructured.Unstructured) map[string]any {
		meta, _ := o.Object["metadata"].(map[string]any)
		if diff := cmp.Diff([]any{owner}, meta["ownerReferences"]); diff != "" || o.GetNamespace() != namespace {
			t.Errorf("%s is of (-want +got):\n%s", o.GetKind(), diff)
		}
		s, _ := o.Object["spec"].(map[string]any)
		return s
	}
	push := map[string]any{
		// The copy is retained when the PushSecret is deleted, and replaces an older one.
		"updatePolicy": "Replace", "deletionPolicy": "None",
		"refreshInterval": "0s",
		"secretStoreRefs": []any{map[string]any{"name": "vault", "kind": "ClusterSecretStore"}},
		"selector":        map[string]any{"secret": map[string]any{"name": secretName}},
		"data":            []any{map[string]any{"match": map[string]any{"remoteRef": map[string]any{"remoteKey": "prod/keys"}}}},
	}
	if diff := cmp.Diff(push, spec(w.pushSecret())); diff != "" {
		t.Errorf("push (-want +got):\n%s", diff)
	}
	restore := map[string]any{
		"refreshInterval": "1m",
		"secretStoreRef":  map[string]any{"name": "vault", "kind": "ClusterSecretStore"},
		// A missing entry of the store is removed from the copy, which reports the missing entry.
		"target":   map[string]any{"name": secretName + "-restore", "creationPolicy": "Owner", "deletionPolicy": "Delete"},
		"dataFrom": []any{map[string]any{"extract": map[string]any{"key": "prod/keys"}}},
	}
	if diff := cmp.Diff(restore, spec(w.externalSecret())); diff != "" {
		t.Errorf("restore (-want +got):\n%s", diff)
	}
}

// TestBackupID: the ID depends on the keys, the store and its entry.
func TestBackupID(t *testing.T) {
	observedState := map[string]string{}
	for name, change := range map[string]func(*observation){
		"AsItIs": func(*observation) {},
		"Keys":   func(w *observation) { w.record.Hash = "another" },
		"Kind":   func(w *observation) { w.repo.Spec.Backup.SecretStoreRef.Kind = "SecretStore" },
		"Store":  func(w *observation) { w.repo.Spec.Backup.SecretStoreRef.Name = "another" },
		"Entry":  func(w *observation) { w.repo.Spec.Backup.RemoteKey = "another" },
	} {
		w := &observation{repo: withBackup(fernet()), record: record{Hash: "hash"}}
		change(w)
		id := w.backupID()
		if other := observedState[id]; other != "" || len(id) != 32 {
			t.Errorf("%s has %s, as %q", name, id, other)
		}
		observedState[id] = name
	}
}

// TestPushesBackupOncePerDay: there is one push for each day and for each set of keys.
func TestPushesBackupOncePerDay(t *testing.T) {
	w := &observation{repo: withBackup(fernet()), now: time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC), record: record{Hash: "hash"}}
	today := w.pushName()
	for hours, same := range map[int]bool{1: true, 23: true, 24: false, 31 * 24: false} {
		later := *w
		later.now = w.now.Add(time.Duration(hours) * time.Hour)
		if got := later.pushName(); (got == today) != same {
			t.Errorf("after %d hours it is %s, at first %s", hours, got, today)
		}
	}
	later := *w
	later.record.Hash = "another"
	if later.pushName() == today {
		t.Error("other keys have the same push")
	}
}

// TestLimit: a repository has at most as many keys as the CRD allows in maxActiveKeys.
func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		keys int
		ok   bool
	}{{rotation.MaxKeys, true}, {rotation.MaxKeys + 1, false}} {
		repo := fernet()
		repo.Spec.RotationSchedule = "0 * * * *"
		w := &observation{repo: repo}
		w.derive()
		// Each hour of a token's lifetime requires a key.
		repo.Spec.Token.ExpirationSeconds += int32((tc.keys - w.neededKeys.Keys) * int(time.Hour/time.Second))
		w = &observation{repo: repo}
		w.derive()
		if w.neededKeys.Keys != tc.keys || (w.specError == nil) != tc.ok {
			t.Errorf("%d keys, want %d: %v", w.neededKeys.Keys, tc.keys, w.specError)
		}
	}
}
