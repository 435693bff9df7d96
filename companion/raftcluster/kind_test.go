package raftcluster

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Warns: []string{"Ready", "ClusterIDMatches", "ChassisCounted"},
		Metrics: []string{
			"companion_raft_cluster_chassis",
			"companion_raft_cluster_condition",
			"companion_raft_cluster_leaders",
			"companion_raft_cluster_members",
		},
	})
}
