package controlplane

import (
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkBuilt refuses what the API has and the function does not compose yet. Admission refuses services and dedicated
// clusters too; this holds where another definition is installed beside the function.
func checkBuilt(s *controlplanev1.ControlPlaneClusterSpec) error {
	v := s.Services
	for _, c := range []struct {
		field  string
		wanted bool
	}{
		{"spec.services.glance", v.Glance != nil && v.Glance.Enabled},
		{"spec.services.placement", v.Placement != nil && v.Placement.Enabled},
		{"spec.services.nova", v.Nova != nil && v.Nova.Enabled},
		{"spec.services.neutron", v.Neutron != nil && v.Neutron.Enabled},
		{"spec.services.cinder", v.Cinder != nil && v.Cinder.Enabled},
		{"spec.services.heat", v.Heat != nil && v.Heat.Enabled},
		{"spec.services.horizon", v.Horizon != nil && v.Horizon.Enabled},
		{"spec.cortex", s.Cortex != nil && s.Cortex.Enabled},
		{"spec.tempest", s.Tempest != nil && s.Tempest.Enabled},
	} {
		if c.wanted {
			return invalid.Field(c.field+".enabled", "this service is not built yet in this version; leave it off")
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
