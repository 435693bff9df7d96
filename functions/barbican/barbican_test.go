package barbican

import (
	"flag"
	"testing"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{GroupVersionKind: barbicanv1.GroupVersionKind, Runner: New()}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// TestGraphHasRequiredComponents tests that the graph has the components and needs that the definition requires.
func TestGraphHasRequiredComponents(t *testing.T) { servicetest.CheckGraph(t, &definition, graph) }
