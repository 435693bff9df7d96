package operators

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
)

func object(kind string, fields map[string]any) *unstructured.Unstructured {
	fields["apiVersion"], fields["kind"] = "v1", kind
	fields["metadata"] = map[string]any{"name": "it", "namespace": "cloud", "uid": "1"}
	return &unstructured.Unstructured{Object: fields}
}

// TestStore: what was pushed is what is read, as a whole; of what was not, it is said that there is none, and only where that is asked for.
func TestStore(t *testing.T) {
	keys := object("Secret", map[string]any{"data": map[string]any{"0": "c3RhZ2Vk", "1": "cHJpbWFyeQ=="}})
	o := &Operators{client: fake.NewSimpleDynamicClient(runtime.NewScheme(), keys)}
	match := func(entry string) map[string]any {
		return map[string]any{"match": map[string]any{"remoteRef": map[string]any{"remoteKey": entry}}}
	}
	if err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"secret": map[string]any{"name": "it"}}, "data": []any{match("pushed")},
	}})); err != nil {
		t.Fatal(err)
	}
	if err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"secret": map[string]any{"name": "other"}}, "data": []any{match("other")},
	}})); err == nil {
		t.Error("pushed a Secret that is not there")
	}
	other := object("Secret", map[string]any{"data": map[string]any{"0": "b3RoZXI="}})
	other.SetName("another")
	if _, err := o.client.Resource(secrets).Namespace("cloud").Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := o.push(t.Context(), object("PushSecret", map[string]any{"spec": map[string]any{
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
		"None":   {reason: "That there is none is an answer.", entry: "other", policy: "Delete", want: secretDeleted},
		"Retain": {reason: "Elsewhere it is an error.", entry: "other", policy: "Retain", fails: true},
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
