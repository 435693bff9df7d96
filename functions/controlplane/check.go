package controlplane

import (
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
)

// checkSchedules refuses schedules that look like one and are none, such as a minute 61, or whose day never comes: the workload cluster
// would refuse them, long after the claim was accepted. Those of Keystone are its own.
func (m *model) checkSchedules() error {
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil && b.Schedule != "" {
		return identity.CheckSchedule("spec.infrastructure.mariadb.backup.schedule", b.Schedule)
	}
	return nil
}

// checkRecoveryTime refuses a day that no calendar has, such as the 30th of February.
func (m *model) checkRecoveryTime() error {
	r := m.spec.Infrastructure.MariaDB.RestoreFrom
	if r == nil || r.TargetRecoveryTime == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, r.TargetRecoveryTime); err != nil {
		return invalid.Field("spec.infrastructure.mariadb.restoreFrom.targetRecoveryTime",
			"there is no such time as %s; give one in UTC, as 2026-05-01T03:00:00Z", r.TargetRecoveryTime)
	}
	return nil
}

// checkHostname refuses a public host name that DNS does not carry: it may be put together of the claim's name and namespace and
// the platform's domain.
func (m *model) checkHostname() error {
	const longest = 253
	if m.identity != nil && len(m.identity.Hostname) > longest {
		return invalid.Field("spec.global.domain", "the host name %s has %d characters, of %d at most; give a shorter domain",
			m.identity.Hostname, len(m.identity.Hostname), longest)
	}
	return nil
}
