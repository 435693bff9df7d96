package controlplane

import (
	"errors"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// checkServices returns the errors of all enabled services.
func (m *model) checkServices() error {
	var errs []error
	for _, s := range m.Services {
		errs = append(errs, s.Model.Check(m.Release))
	}
	return errors.Join(errs...)
}

// checkAPI performs the checks that all services share.
func checkAPI(m *model, s *services.State, r release.Release) error {
	return services.Common{Cloud: m.Cloud, State: s}.Check(r)
}
