package controlplane

import (
	"errors"
	"time"

	"github.com/robfig/cron/v3"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkSchedules refuses schedules that look like one and are none, such as a minute 61: CronJobs and backups would be refused
// by the workload cluster, long after the claim was accepted.
func (m *model) checkSchedules() error {
	schedules := map[string]common.Cron{}
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil {
		schedules["spec.infrastructure.mariadb.backup.schedule"] = b.Schedule
	}
	k := m.spec.Services.Keystone
	if k.Fernet != nil {
		schedules["spec.services.keystone.fernet.rotationSchedule"] = k.Fernet.RotationSchedule
	}
	if k.CredentialKeys != nil {
		schedules["spec.services.keystone.credentialKeys.rotationSchedule"] = k.CredentialKeys.RotationSchedule
	}
	if k.TrustFlush != nil {
		schedules["spec.services.keystone.trustFlush.schedule"] = k.TrustFlush.Schedule
	}
	var errs []error
	for _, field := range sortedKeys(schedules) {
		s := string(schedules[field])
		if s == "" {
			continue
		}
		if _, err := cron.ParseStandard(s); err != nil {
			errs = append(errs, invalid.Field(field, "%q is not a schedule (%s); give minute, hour, day of month, month and day of week", s, err))
		}
	}
	return errors.Join(errs...)
}

// checkRecoveryTime refuses a day that no calendar has, such as the 30th of February.
func (m *model) checkRecoveryTime() error {
	r := m.spec.Infrastructure.MariaDB.RestoreFrom
	if r == nil || r.TargetRecoveryTime == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, r.TargetRecoveryTime); err != nil {
		return invalid.Field("spec.infrastructure.mariadb.restoreFrom.targetRecoveryTime",
			"there is no such moment as %s; give one in UTC, as 2026-05-01T03:00:00Z", r.TargetRecoveryTime)
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
