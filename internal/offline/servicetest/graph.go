package servicetest

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// CheckGraph tests that the graph of a service has the components and needs that its definition requires.
func CheckGraph[M any](t *testing.T, d *service.Definition, graph compose.Graph[M]) {
	t.Helper()
	if err := service.CheckGraph(d, graph); err != nil {
		t.Error(err)
	}
}
