package operators

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

func object(kind string, fields map[string]any) *unstructured.Unstructured {
	fields["apiVersion"], fields["kind"] = "v1", kind
	fields["metadata"] = map[string]any{"name": "it", "namespace": "cloud", "uid": "1"}
	return &unstructured.Unstructured{Object: fields}
}

// TestStore checks that entries are read as they were pushed, as a whole, and that missing entries are reported,
// without an error only with policy Delete.
func TestStore(t *testing.T) {
	keys := object("Secret", map[string]any{"data": map[string]any{"0": "c3RhZ2Vk", "1": "cHJpbWFyeQ=="}})
	o := &Operators{store: &Store{}, client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), keys)}
	match := func(entry string) map[string]any {
		return map[string]any{"match": map[string]any{"remoteRef": map[string]any{"remoteKey": entry}}}
	}
	if _, err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"secret": map[string]any{"name": "it"}}, "data": []any{match("pushed")},
	}})); err != nil {
		t.Fatal(err)
	}
	if _, err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"secret": map[string]any{"name": "other"}}, "data": []any{match("other")},
	}})); err == nil {
		t.Error("pushed a Secret that is not there")
	}
	other := object("Secret", map[string]any{"data": map[string]any{"0": "b3RoZXI="}})
	other.SetName("another")
	if _, err := o.client.Resource(secrets).Namespace("cloud").Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"secret": map[string]any{"name": "another"}}, "updatePolicy": "IfNotExists", "data": []any{match("pushed")},
	}})); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		entry  string
		policy string
		want   string
		data   map[string]any
		fails  bool
	}{
		"Pushed": {reason: "All of it comes back.", entry: "pushed", policy: "Delete", want: secretSynced, data: map[string]any{"0": "c3RhZ2Vk", "1": "cHJpbWFyeQ=="}},
		"None":   {reason: "A missing entry is a valid result.", entry: "other", policy: "Delete", want: secretDeleted},
		"Retain": {reason: "With other policies it is an error.", entry: "other", policy: "Retain", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			u := object("ExternalSecret", map[string]any{"spec": map[string]any{
				"target":   map[string]any{"name": "restored-" + lower(name), "deletionPolicy": tc.policy},
				"dataFrom": []any{map[string]any{"extract": map[string]any{"key": tc.entry}}},
			}})
			got, err := o.pull(t.Context(), u, entryOf(u))
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\npull(...) = %q, %v, want %q", tc.reason, got, err, tc.want)
			}
			var data map[string]any
			if s, err := o.client.Resource(secrets).Namespace("cloud").Get(t.Context(), "restored-"+lower(name), metav1.GetOptions{}); err == nil {
				data, _, _ = unstructured.NestedMap(s.Object, "data")
			}
			if diff := cmp.Diff(tc.data, data); diff != "" {
				t.Errorf("%s\nthe Secret: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRefresh checks that a PushSecret is pushed when it is new or changed, and again when its interval has elapsed, if
// it has one.
func TestRefresh(t *testing.T) {
	const at = "2026-01-01T00:00:00Z"
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	synced := func(generation int64) *unstructured.Unstructured {
		u := object("PushSecret", map[string]any{})
		u.SetGeneration(1)
		u.Object["status"] = map[string]any{"refreshTime": at, "syncedResourceVersion": fake.Version(u.Object)}
		u.SetGeneration(generation)
		return u
	}
	for name, tc := range map[string]struct {
		u        *unstructured.Unstructured
		interval time.Duration
		after    time.Duration
		wait     time.Duration
		elapsed  bool
	}{
		"New":     {u: object("PushSecret", map[string]any{}), elapsed: true},
		"Changed": {u: synced(2), elapsed: true},
		"Once":    {u: synced(1), after: 100 * time.Hour},
		"Early":   {u: synced(1), interval: time.Hour, after: time.Minute, wait: 59 * time.Minute},
		"Over":    {u: synced(1), interval: time.Hour, after: time.Hour, elapsed: true},
	} {
		t.Run(name, func(t *testing.T) {
			if wait, elapsed := refresh(tc.u, tc.interval, now.Add(tc.after)); elapsed != tc.elapsed || (!elapsed && wait != tc.wait) {
				t.Errorf("refresh(...) = %v, %t, want %v, %t", wait, elapsed, tc.wait, tc.elapsed)
			}
		})
	}
}

// TestDeletionPolicyControlsStoreEntries checks that with Delete, entries are deleted with the PushSecret, and also entries that it no
// longer names; otherwise all stay.
func TestDeletionPolicyControlsStoreEntries(t *testing.T) {
	data := func(properties ...string) (out []any) {
		for _, p := range properties {
			out = append(out, map[string]any{"match": map[string]any{
				"secretKey": p, "remoteRef": map[string]any{"remoteKey": "entry", "property": p},
			}})
		}
		return out
	}
	for policy, want := range map[string][]map[string]map[string]any{
		"Delete": {{"entry": {"a": "QQ=="}}, {}},
		"None":   {{"entry": {"a": "QQ==", "b": "Qg=="}}, {"entry": {"a": "QQ==", "b": "Qg=="}}},
	} {
		t.Run(policy, func(t *testing.T) {
			push := object("PushSecret", map[string]any{"spec": map[string]any{
				"deletionPolicy": policy, "selector": map[string]any{"secret": map[string]any{"name": "it"}}, "data": data("a", "b"),
				"secretStoreRefs": []any{map[string]any{"kind": "ClusterSecretStore", "name": "store"}},
			}})
			push.SetAPIVersion("external-secrets.io/v1alpha1")
			resource := schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1alpha1", Resource: "pushsecrets"}
			o := &Operators{store: &Store{}, client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), push,
				object("Secret", map[string]any{"data": map[string]any{"a": "QQ==", "b": "Qg=="}}))}
			i := item{resource: resource, namespace: "cloud", name: "it"}
			if held, err := o.finalize(t.Context(), i, push); err != nil || held != (policy == "Delete") {
				t.Fatalf("finalize(...) = %t, %v", held, err)
			}
			for _, properties := range [][]string{{"a", "b"}, {"a"}} {
				_ = unstructured.SetNestedSlice(push.Object, data(properties...), "spec", "data")
				push.SetGeneration(push.GetGeneration() + 1)
				if _, err := o.push(t.Context(), push); err != nil {
					t.Fatal(err)
				}
				if err := fake.Finish(push.Object, now()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want[0], o.store.entries); diff != "" {
				t.Errorf("an entry less: -want, +got:\n%s", diff)
			}
			push.SetDeletionTimestamp(new(metav1.Now()))
			if _, err := o.finalize(t.Context(), i, push); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[1], o.store.entries); diff != "" {
				t.Errorf("deleted: -want, +got:\n%s", diff)
			}
			if len(push.GetFinalizers()) > 0 {
				t.Errorf("finalizers %v are left", push.GetFinalizers())
			}
		})
	}
}

// TestGuard checks that the Secret with which K-ORC's objects log in is kept until the last of them is deleted; other
// finalizers stay.
func TestGuard(t *testing.T) {
	projects := schema.GroupVersionResource{Group: korcGroup, Version: "v1alpha1", Resource: "projects"}
	secret := object("Secret", map[string]any{})
	secret.SetFinalizers([]string{"example.org/other"})
	project := object("Project", map[string]any{"spec": map[string]any{"cloudCredentialsRef": map[string]any{"secretName": "it"}}})
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(project); err != nil {
		t.Fatal(err)
	}
	o := &Operators{
		client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), secret),
		kinds:  map[schema.GroupVersionResource]schema.GroupKind{projects: {Group: korcGroup, Kind: "Project"}},
		caches: map[schema.GroupVersionResource]cache.GenericLister{projects: cache.NewGenericLister(indexer, projects.GroupResource())},
		held:   map[pausedOwners]bool{},
	}
	finalizers := func() []string {
		t.Helper()
		s, err := o.client.Resource(secrets).Namespace("cloud").Get(t.Context(), "it", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s.GetFinalizers()
	}
	if err := o.guard(t.Context(), project, guardOf("Project")); err != nil {
		t.Fatal(err)
	}
	guarded := []string{"example.org/other", "openstack.k-orc.cloud/project"}
	if diff := cmp.Diff(guarded, finalizers()); diff != "" {
		t.Errorf("in use: -want, +got:\n%s", diff)
	}
	i := item{resource: secrets, namespace: "cloud", name: "it"}
	for _, tc := range []struct {
		reason string
		before func()
		want   []string
	}{
		{"A project logs in with it.", func() {}, guarded},
		{"It is not used.", func() { _ = indexer.Delete(project) }, guarded[:1]},
	} {
		tc.before()
		deleted := object("Secret", map[string]any{})
		deleted.SetFinalizers(guarded)
		deleted.SetDeletionTimestamp(new(metav1.Now()))
		if err := o.unguard(t.Context(), i, deleted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, finalizers()); diff != "" {
			t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
		}
	}
}

func TestDigested(t *testing.T) {
	const digest = "@sha256:"
	for image, want := range map[string]string{
		"ghcr.io/c5c3/keystone:28.1.0":           "ghcr.io/c5c3/keystone" + digest,
		"registry.example.com:5000/c5c3/it":      "registry.example.com:5000/c5c3/it" + digest,
		"registry.example.com:5000/it@sha256:01": "registry.example.com:5000/it" + digest,
	} {
		if got := digested(image); len(got) != len(want)+64 || got[:len(want)] != want {
			t.Errorf("digested(%q) = %q, want %s…", image, got, want)
		}
	}
	if digested("a:1") == digested("a:2") {
		t.Error("two versions have one digest")
	}
}
