package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/barbican"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/cinder"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/glance"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/heat"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/horizon"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/keystone"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/neutron"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/nova"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/placement"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
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
