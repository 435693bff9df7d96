package tempest

import (
	"flag"
	"testing"

	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{GroupVersionKind: tempestv1.GroupVersionKind, Runner: New()}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }
