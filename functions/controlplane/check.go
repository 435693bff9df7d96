package controlplane

import (
	"errors"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// checkServices returns the errors of all enabled services.
func (m *model) checkServices() error {
	var errs []error
	for _, s := range m.services {
		errs = append(errs, s.check(m, s, m.Release))
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
	case !m.Messaging():
		return invalid.Field("spec.infrastructure.rabbitmq.enabled", "%s requires the message queue; keep it enabled, or "+
			"disable services.%[1]s", s.name)
	case m.RunsQueue() && m.Platform.QueueIssuer == "":
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
