package controlplane

import (
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/barbican"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/cinder"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/glance"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/heat"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/horizon"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/keystone"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/neutron"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/nova"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/placement"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// serviceTable lists all implemented OpenStack services, in the order in which they are created and upgraded: a service follows the
// services that it uses. Paths are the same as in devstack, below a shared host name. The first service authenticates all others.
var serviceTable = []services.Service{
	keystone.Service{},
	placement.Service{},
	barbican.Service{},
	glance.Service{},
	nova.Service{},
	neutron.Service{},
	horizon.Service{},
	heat.Service{},
	cinder.Service{},
}

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

// companionEgressPorts returns the ports of the services that the companion calls in addition to Keystone: Nova, Placement and Neutron for
// the records of hypervisors, and Cinder.
func (m *model) companionEgressPorts() []int32 {
	var out []int32
	if n := m.Spec.Services.Nova; n != nil && n.Enabled {
		out = append(out, novav1.Port, placementv1.Port, neutronv1.Port)
	}
	if c := m.Spec.Services.Cinder; c != nil && c.Enabled {
		out = append(out, cinderv1.Port)
	}
	return out
}
