package controlplane

import (
	"errors"
	"slices"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// checkSchedules returns an error for schedules that are well-formed but invalid, such as minute 61, or that never run. The workload
// cluster would reject them only long after the claim was accepted. Services check their own schedules.
func (m *model) checkSchedules() error {
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil && b.Schedule != "" {
		return identity.CheckSchedule("spec.infrastructure.mariadb.backup.schedule", b.Schedule)
	}
	return nil
}

// checkRecoveryTime returns an error for a date that does not exist, such as 30 February.
func (m *model) checkRecoveryTime() error {
	r := m.spec.Infrastructure.MariaDB.RestoreFrom
	if r == nil {
		return nil
	}
	return checkTime("spec.infrastructure.mariadb.restoreFrom.targetRecoveryTime", r.TargetRecoveryTime)
}

func checkTime(field, text string) error {
	if text == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return invalid.Field(field, "%s is not a valid time; set a time in UTC, such as 2026-05-01T03:00:00Z", text)
	}
	return nil
}

// checkServices returns the errors of all enabled services.
func (m *model) checkServices() error {
	var errs []error
	for _, s := range m.services {
		errs = append(errs, s.check(m, s, m.release))
	}
	return errors.Join(errs...)
}

// checkAPI performs the checks that all services share.
func checkAPI(_ *model, s *serviceState, r release.Release) error {
	return s.spec().Check(s.field(""), s.name, r)
}

// spec returns the settings that are checked for every service.
func (s *serviceState) spec() openstack.Spec {
	return openstack.Spec{
		ServiceSpec: &common.ServiceSpec{ServiceBase: common.ServiceBase{Image: s.basics.Image}, Overrides: s.basics.Overrides},
		Workload:    &s.workload, UWSGI: new(s.processes()),
	}
}

// checkQueue returns an error for a service that requires a message queue if it is disabled, or if its virtual hosts cannot be created in
// it.
func (m *model) checkQueue(s *serviceState) error {
	switch {
	case !m.messaging():
		return invalid.Field("spec.infrastructure.rabbitmq.enabled", "%s requires the message queue; keep it enabled, or "+
			"disable services.%[1]s", s.name)
	case m.runsQueue() && m.platform.QueueIssuer == "":
		return invalid.Field(s.field(".enabled"), "the PlatformConfig has no queueIssuer, which is required to create the "+
			"virtual hosts of this service; disable the service, or ask the platform team to set queueIssuer")
	}
	return nil
}

// hasService reports whether a service of that name is enabled.
func (m *model) hasService(name string) bool {
	return slices.ContainsFunc(m.services, func(o *serviceState) bool { return o.name == name })
}

// checkOther returns an error for a service whose dependency is disabled.
func (m *model) checkOther(s *serviceState, other string) error {
	if m.hasService(other) {
		return nil
	}
	return invalid.Field("spec.services."+other+".enabled", "%s requires %s; set enabled to true, or disable services.%[1]s",
		s.name, other)
}
