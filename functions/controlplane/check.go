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

// checkSchedules refuses schedules that look like one and are none, such as a minute 61, or whose day never comes: the workload cluster
// would refuse them, long after the claim was accepted. Those of services are their own.
func (m *model) checkSchedules() error {
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil && b.Schedule != "" {
		return identity.CheckSchedule("spec.infrastructure.mariadb.backup.schedule", b.Schedule)
	}
	return nil
}

// checkRecoveryTime refuses a day that no calendar has, such as the 30th of February.
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
		return invalid.Field(field, "there is no such time as %s; give one in UTC, as 2026-05-01T03:00:00Z", text)
	}
	return nil
}

// checkServices refuses what the services would.
func (m *model) checkServices() error {
	var errs []error
	for _, s := range m.services {
		errs = append(errs, s.check(m, s, m.release))
	}
	return errors.Join(errs...)
}

// checkAPI is what every service refuses.
func checkAPI(_ *model, s *serviceState, r release.Release) error {
	return s.spec().Check(s.field(""), s.name, r)
}

// spec is what is checked of every service.
func (s *serviceState) spec() openstack.Spec {
	return openstack.Spec{
		ServiceSpec: &common.ServiceSpec{ServiceBase: common.ServiceBase{Image: s.basics.Image}, Overrides: s.basics.Overrides},
		Workload:    &s.workload, UWSGI: new(s.processes()),
	}
}

// checkQueue refuses a service with a queue where there is none, or none that its virtual hosts can be made in.
func (m *model) checkQueue(s *serviceState) error {
	switch {
	case !m.messaging():
		return invalid.Field("spec.infrastructure.rabbitmq.enabled", "%s needs the message queue; leave it on, or services.%[1]s off", s.name)
	case m.runsQueue() && m.platform.QueueIssuer == "":
		return invalid.Field(s.field(".enabled"), "the platform names no issuer for message queues, without which nobody may make this "+
			"service's virtual hosts; leave it off, or ask the platform team to name one in queueIssuer of the PlatformConfig")
	}
	return nil
}

// hasService says whether a service of that name is enabled.
func (m *model) hasService(name string) bool {
	return slices.ContainsFunc(m.services, func(o *serviceState) bool { return o.name == name })
}

// checkOther refuses a service without another one that it cannot do without.
func (m *model) checkOther(s *serviceState, other string) error {
	if m.hasService(other) {
		return nil
	}
	return invalid.Field("spec.services."+other+".enabled", "%s cannot do without %s; say enabled: true, or leave services.%[1]s off",
		s.name, other)
}
