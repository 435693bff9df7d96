package controlplane

import (
	"errors"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// model holds the inputs of all builders, derived once.
type model struct {
	*services.Cloud
}

// derive goes from one value to the next: the claim, the services that it enables, the infrastructure that they share, and the services
// with the releases that an upgrade assigns to them.
func derive(in function.Input[controlplanev1.ControlPlaneCluster]) (*model, error) {
	read, err := claim.Read(in)
	if err != nil {
		return nil, err
	}
	enabled := enabledServices(read)
	shared, sharedErr := infrastructure.Derive(read, demandOf(read, enabled), in.Required)
	if err := newModel(shared.WithClaim(read), enabled).checkClaim(); err != nil {
		return nil, err
	}
	if err := errors.Join(read.CheckExposure(enabled[0].Observed), sharedErr); err != nil {
		return nil, err
	}
	released, err := newModel(shared, enabled).assignReleases()
	if err != nil {
		return nil, err
	}
	m := newModel(shared, released)
	return m, errors.Join(m.checkUpgrade(), m.CheckChanges())
}

func newModel(shared *infrastructure.Infrastructure, enabled []*services.State) *model {
	return &model{services.New(shared, enabled)}
}

// checkClaim returns the errors of the claim, each of them once.
func (m *model) checkClaim() error {
	return invalid.Distinct(
		m.checkLimits(), m.Check(), m.checkResources(), m.checkHostnames(), m.checkServices(), m.checkTests(), m.checkServiceGrants(),
		m.checkValues(), m.CheckServerOptions(),
	)
}

// demandOf returns the use of the infrastructure by services.
func demandOf(c *claim.Claim, enabled []*services.State) infrastructure.Demand {
	out := infrastructure.Demand{Secrets: secretsNamed}
	for _, s := range enabled {
		if s.Observed.Exists() {
			out.Databases = append(out.Databases, infrastructure.DatabaseUser{
				Host: s.Observed.String("spec", "database", "host"), Ready: s.Ready(),
			})
		}
		out.Pools = append(out.Pools, infrastructure.PoolUser{
			Service: s.Name, Exists: s.Observed.Exists(), Pools: s.Service.Pools(&c.Spec.Services),
		})
	}
	return out
}
