package cinder

import (
	"flag"
	"testing"
	"time"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{GroupVersionKind: cinderv1.GroupVersionKind, Runner: New()}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// TestGraphHasRequiredComponents tests that the graph has the components and needs that the definition requires.
func TestGraphHasRequiredComponents(t *testing.T) { servicetest.CheckGraph(t, &definition, graph) }

// TestVolumeProcessesRestartBeforeTheyCountAsDown compares the times. A process reports nothing while it stops and while it starts.
func TestVolumeProcessesRestartBeforeTheyCountAsDown(t *testing.T) {
	const start = time.Minute // With an image that the node has, and a backend that responds.
	if least := volumeTerminationGracePeriod + start; override.CinderServiceDownTime < least {
		t.Errorf("service_down_time is %s: volumes that are created in a rollout fail; want %s or more", override.CinderServiceDownTime, least)
	}
}
