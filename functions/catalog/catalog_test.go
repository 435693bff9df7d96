package catalog

import (
	"flag"
	"testing"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{KeepsNoData: true, GroupVersionKind: catalogv1.GroupVersionKind, Runner: New()}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }
