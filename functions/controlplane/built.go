package controlplane

import (
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkBuilt refuses what the API has and the function does not compose yet. Admission refuses services and dedicated
// clusters too; this holds where another definition is installed beside the function.
func checkBuilt(s *controlplanev1.ControlPlaneClusterSpec) error {
	for _, u := range unbuilt {
		if u.wanted(s) {
			return invalid.Field(u.field+".enabled", "this service is not built yet in this version; leave it off")
		}
	}
	if s.Cluster != nil && s.Cluster.Gardener != nil {
		return invalid.Field("spec.cluster.gardener", "dedicated clusters are not built yet in this version; "+
			"name a cluster of the platform in cluster.ref, or leave cluster out")
	}
	if b := s.Infrastructure.MariaDB.Backup; b != nil && b.PointInTimeRecovery {
		return invalid.Field("spec.infrastructure.mariadb.backup.pointInTimeRecovery",
			"the operator recovers to a point in time with replication only, which is not built yet; leave it off and schedule backups more often")
	}
	return nil
}
