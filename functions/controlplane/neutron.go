package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/neutron"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// ovnComponent is the component of the OVN databases.
const ovnComponent = ovnv1.Name

// ovnGraph contains the OVN databases, which are independent of the state of the network service.
var ovnGraph = compose.Graph[*model]{
	{
		Name: ovnComponent, Phase: common.PhaseInfrastructure,
		Needs:   []string{infrastructure.CompanionComponent, infrastructure.PullComponent},
		Enabled: (*model).ownsOVN, Build: func(m *model) ([]compose.Stage, error) { return neutron.ComposeOVN(m.Cloud) },
	},
	{
		Name: ovnComponent + "-deletion-order", Phase: common.PhaseInfrastructure, Follows: []string{ovnComponent},
		Enabled: (*model).ownsOVN,
		Build:   func(m *model) ([]compose.Stage, error) { return neutron.ComposeOVNDeletionOrder(m.Cloud) },
	},
}

// ownsOVN reports whether the control plane runs its own OVN databases.
func (m *model) ownsOVN() bool { return neutron.OwnsOVN(m.Cloud) }
