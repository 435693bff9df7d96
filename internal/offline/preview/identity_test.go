package preview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

func TestIdentityOf(t *testing.T) {
	for name, tc := range map[string]struct {
		claim string
		want  preview.Identity
		known bool
	}{
		"claim":        {"{kind: A, metadata: {namespace: b, name: c}}", preview.Identity{Kind: "A", Namespace: "b", Name: "c"}, true},
		"no kind":      {"{metadata: {namespace: b, name: c}}", preview.Identity{Namespace: "b", Name: "c"}, false},
		"no namespace": {"{kind: A, metadata: {name: c}}", preview.Identity{Kind: "A", Name: "c"}, false},
		"no name":      {"{kind: A, metadata: {namespace: b}}", preview.Identity{Kind: "A", Namespace: "b"}, false},
		"no YAML":      {"{", preview.Identity{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := preview.IdentityOf([]byte(tc.claim))
			if diff := cmp.Diff(tc.want, got); diff != "" || got.Known() != tc.known {
				t.Errorf("known %t (-want +got):\n%s", got.Known(), diff)
			}
		})
	}
}

func TestDuplicate(t *testing.T) {
	want := "A c: metadata.name: must be unique among claims of one kind in namespace b, and first.yaml has the same name; remove or rename one of them, " +
		"or remove the claim if the other one is its namespaced form"
	if got := preview.Duplicate(preview.Identity{Kind: "A", Namespace: "b", Name: "c"}, "first.yaml").Error(); got != want {
		t.Errorf("got %s", got)
	}
}
