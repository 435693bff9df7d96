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

// TestOwners: whatever is emitted has an owner here, or is refused by its kind's name.
func TestOwners(t *testing.T) {
	runners := kinds.Runners()
	for _, kind := range fake.Kinds() {
		name := kind.String()
		_, composed := runners[name]
		if _, claimed := runners["X"+name]; composed || claimed || kind.Kind == "Object" {
			continue // by Crossplane, or around what has an owner
		}
		if !slices.ContainsFunc(owners, func(o owner) bool { return o.kind == name }) {
			t.Errorf("nobody makes a %s ready: add who does to owners, or that nobody has to", name)
		}
	}
	err := (&Operators{}).Reconcile(context.Background(), []map[string]any{
		{"apiVersion": "example.org/v1", "kind": "Unheard", "metadata": map[string]any{"name": "of"}},
	})
	if err == nil || !strings.Contains(err.Error(), "Unheard of") {
		t.Errorf("got %v of a kind that nobody knows, want an error with its name", err)
	}
}
