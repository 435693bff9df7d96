package controlplane

import (
	"errors"
	"fmt"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkKeystoneServices refuses a place in the catalog that another service has. What a KeystoneService makes of its own, its function says:
// here is only who may.
func (m *model) checkKeystoneServices() error {
	var errs []error
	taken := map[keystoneservicev1.ServiceType]int{}
	for i, g := range m.spec.KeystoneServices {
		if g.Type == "" {
			continue
		}
		field := fmt.Sprintf("spec.keystoneServices[%d].type", i)
		if g.Type.Reserved() {
			errs = append(errs, invalid.Field(field, "%q is the type of a service of OpenStack's own; choose another", g.Type))
		}
		if first, twice := taken[g.Type]; twice {
			errs = append(errs, invalid.Field(field, "spec.keystoneServices[%d] has type %q already: clients would find either; choose another",
				first, g.Type))
			continue
		}
		taken[g.Type] = i
	}
	return errors.Join(errs...)
}
