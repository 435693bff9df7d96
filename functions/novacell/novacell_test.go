package novacell

import (
	"flag"
	"testing"

	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{GroupVersionKind: novacellv1.GroupVersionKind, Runner: New(), Name: "nova-cell1"}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// TestGraphHasRequiredComponents tests that the graph has the components and needs that the definition requires.
func TestGraphHasRequiredComponents(t *testing.T) { servicetest.CheckGraph(t, definition(""), graph) }
