//go:build platform

package store

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/keyrepository"
	access "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

func TestStoreTransfersCopiesAndKeys(t *testing.T) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	w := start(t)
	t.Run("Copies", func(t *testing.T) { testCopies(t, w) })
	t.Run("Keys", func(t *testing.T) { testKeys(t, w) })
}

// testCopies checks that a Secret is pushed key by key and read by others, and that its entry is deleted with the
// PushSecret. An unreadable entry is reported, and changes nothing.
func testCopies(t *testing.T, w *suite) {
	w.t = t
	of := func(name string) object.Meta { return object.Meta{Name: name, Namespace: namespace} }
	from := secret.Source{Store: storeName, StoreKind: storeKind, Key: "cloud/database"}
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "database", Namespace: namespace},
		StringData: map[string]string{"password": "correct", "username": "keystone", "other": "stays here"},
	})
	push := secret.Pushed(of("database"), "database", from, "password", "username")
	w.create(push)
	w.eventually("the entry", func() bool { return len(w.entry(from.Key)) == 2 })
	if diff := cmp.Diff(map[string]string{"password": "correct", "username": "keystone"}, w.entry(from.Key)); diff != "" {
		t.Errorf("the entry: -want, +got:\n%s", diff)
	}

	w.create(secret.Copied(of("copied"), from, corev1.SecretTypeOpaque, false, "password"))
	w.create(secret.Given(of("given"), "admin", from, "password"))
	for name, want := range map[string]map[string]string{
		"copied": {"password": "correct"}, "given": {"password": "correct", "username": "admin"},
	} {
		w.eventually(name, func() bool { return w.secret(name) != nil })
		if diff := cmp.Diff(want, w.secret(name)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}

	missing := from
	missing.Key = "cloud/nothing"
	unreadable := secret.Copied(of("unread"), missing, corev1.SecretTypeOpaque, false, "password")
	w.create(unreadable)
	w.eventually("a report on the unreadable entry", func() bool {
		status, reason := ready(w, unreadable)
		return status == "False" && reason == "SecretSyncedError"
	})
	if got := w.secret("unread"); got != nil {
		t.Errorf("a Secret was made of nothing: %v", got)
	}

	w.must(w.api.Delete(t.Context(), push))
	w.eventually("the end of the entry", func() bool { return w.entry(from.Key) == nil })
	if diff := cmp.Diff(map[string]string{"password": "correct"}, w.secret("copied")); diff != "" {
		t.Errorf("without its source: -want, +got:\n%s", diff)
	}
}

// ready returns status and reason of an object's condition Ready.
func ready(w *suite, o *unstructured.Unstructured) (status, reason string) {
	w.t.Helper()
	w.must(w.api.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if m, _ := c.(map[string]any); m["type"] == "Ready" {
			status, _ = m["status"].(string)
			reason, _ = m["reason"].(string)
		}
	}
	return status, reason
}

// testKeys checks that keys that are created because the store has none are stored, and that their rotated successors
// are. After losing everything except the store, the same keys are restored, and no new ones are created.
func testKeys(t *testing.T, w *suite) {
	w.t = t
	const entry = "cloud/fernet"
	repository := func(suspend bool) *openstackv1.KeyRepository {
		return &openstackv1.KeyRepository{
			ObjectMeta: metav1.ObjectMeta{Name: "fernet", Namespace: namespace},
			Spec: openstackv1.KeyRepositorySpec{
				Type: openstackv1.KeyTypeFernet, SecretName: "fernet", RotationSchedule: "* * * * *", Suspend: suspend,
				Token: &openstackv1.TokenLifetime{ExpirationSeconds: 60},
				Backup: &openstackv1.Backup{
					SecretStoreRef: common.SecretStoreReference{Name: storeName, Kind: storeKind}, RemoteKey: entry,
				},
			},
		}
	}
	companion(t, w, repository(false))
	status := func() openstackv1.KeyRepositoryStatus {
		r := &openstackv1.KeyRepository{}
		w.must(w.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "fernet"}, r))
		return r.Status
	}
	backedUp := func() bool {
		got := w.entry(entry)
		return len(got) > 0 && cmp.Equal(w.secret("fernet"), got) && meta.IsStatusConditionTrue(status().Conditions, "BackedUp")
	}
	w.create(repository(false))
	w.eventually("keys that are backed up", backedUp)
	first := w.entry(entry)
	w.eventually("a rotation that is backed up", func() bool { return status().Primary > 1 && backedUp() })
	if cmp.Equal(first, w.entry(entry)) {
		t.Error("the store has the keys from before the rotation")
	}

	w.eventually("no further rotation", func() bool {
		r := &openstackv1.KeyRepository{}
		w.must(w.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "fernet"}, r))
		r.Spec.Suspend = true
		return w.api.Update(t.Context(), r) == nil
	})
	w.eventually("the last keys in the store", backedUp)
	want := w.secret("fernet")
	w.must(w.api.Delete(t.Context(), repository(true)))
	w.must(client.IgnoreNotFound(w.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "fernet", Namespace: namespace}})))
	w.eventually("the end of everything but the store", func() bool {
		pushes := &unstructured.UnstructuredList{}
		pushes.SetAPIVersion("external-secrets.io/v1alpha1")
		pushes.SetKind("PushSecretList")
		w.must(w.api.List(t.Context(), pushes, client.InNamespace(namespace)))
		return w.secret("fernet") == nil && len(pushes.Items) == 0
	})
	if diff := cmp.Diff(want, w.entry(entry)); diff != "" {
		t.Fatalf("the entry was deleted with its PushSecret: -want, +got:\n%s", diff)
	}
	w.create(repository(true))
	w.eventually("the keys again", func() bool { return w.secret("fernet") != nil })
	if diff := cmp.Diff(want, w.secret("fernet")); diff != "" {
		t.Errorf("restored: -want, +got:\n%s", diff)
	}
}

// companion runs the controller of keys, with the permissions that a control plane with this repository grants it.
func companion(t *testing.T, w *suite, repository *openstackv1.KeyRepository) {
	t.Helper()
	for _, o := range access.Access(workload.Workload{Name: "companion", Namespace: namespace, App: "companion", Instance: "cloud"}) {
		w.create(o.(client.Object))
	}
	role, binding := access.Grant(object.Meta{Name: "keystone-companion", Namespace: namespace}, repository)
	w.create(role.(client.Object))
	w.create(binding.(client.Object))
	as := rest.CopyConfig(w.config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":companion", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: w.scheme, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	w.must(err)
	w.must(keyrepository.Add(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}
