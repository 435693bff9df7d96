//go:build linux

package operators

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

// TestOwners checks that each emitted kind has an owner here, and that an unknown kind is rejected with its name.
func TestOwners(t *testing.T) {
	runners := kinds.Runners()
	for _, kind := range fake.Kinds() {
		name := kind.String()
		_, composed := runners[name]
		if _, claimed := runners["X"+name]; composed || claimed || kind.Kind == "Object" {
			continue // composed by Crossplane, or a wrapper
		}
		if !slices.ContainsFunc(owners, func(o owner) bool { return o.kind == name }) {
			t.Errorf("kind %s has no owner: add it to owners, with or without a function", name)
		}
	}
	err := (&Operators{}).Reconcile(context.Background(), []map[string]any{
		{"apiVersion": "example.org/v1", "kind": "Unheard", "metadata": map[string]any{"name": "of"}},
	})
	if err == nil || !strings.Contains(err.Error(), "Unheard of") {
		t.Errorf("got %v for an unknown kind, want an error with its name", err)
	}
}
