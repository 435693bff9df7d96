// Package kinds connects each kind of composite resource with its function: the only place that knows all functions. The kinds themselves
// are registered in internal/kindregistry.
package kinds

import (
	"github.com/c5c3/crossplane-cobaltcore/functions/barbican"
	"github.com/c5c3/crossplane-cobaltcore/functions/catalog"
	"github.com/c5c3/crossplane-cobaltcore/functions/cinder"
	"github.com/c5c3/crossplane-cobaltcore/functions/cloud"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/functions/glance"
	"github.com/c5c3/crossplane-cobaltcore/functions/heat"
	"github.com/c5c3/crossplane-cobaltcore/functions/horizon"
	"github.com/c5c3/crossplane-cobaltcore/functions/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/functions/keystone"
	"github.com/c5c3/crossplane-cobaltcore/functions/keystoneservice"
	"github.com/c5c3/crossplane-cobaltcore/functions/namespaced"
	"github.com/c5c3/crossplane-cobaltcore/functions/neutron"
	"github.com/c5c3/crossplane-cobaltcore/functions/nova"
	"github.com/c5c3/crossplane-cobaltcore/functions/novacell"
	"github.com/c5c3/crossplane-cobaltcore/functions/ovn"
	"github.com/c5c3/crossplane-cobaltcore/functions/placement"
	"github.com/c5c3/crossplane-cobaltcore/functions/storage"
	"github.com/c5c3/crossplane-cobaltcore/functions/tempest"
	"github.com/c5c3/crossplane-cobaltcore/functions/workloadcluster"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// constructors contains the function of each composite resource, by the folder of the kind.
var constructors = map[string]func() function.Runner{
	"barbican":        barbican.New,
	"catalog":         catalog.New,
	"cinder":          cinder.New,
	"cloud":           cloud.New,
	"controlplane":    controlplane.New,
	"glance":          glance.New,
	"heat":            heat.New,
	"horizon":         horizon.New,
	"hypervisor":      hypervisor.New,
	"keystone":        keystone.New,
	"keystoneservice": keystoneservice.New,
	"neutron":         neutron.New,
	"nova":            nova.New,
	"novacell":        novacell.New,
	"ovn":             ovn.New,
	"placement":       placement.New,
	"storage":         storage.New,
	"tempest":         tempest.New,
	"workloadcluster": workloadcluster.New,
}

// Runners returns the function of each kind of composite resource, by "<Kind>.<group>".
func Runners() map[string]function.Runner {
	out := make(map[string]function.Runner, len(constructors))
	for _, k := range kindregistry.Composites() {
		out[k.Composite().GroupKind().String()] = constructors[k.Folder]()
	}
	for _, k := range kindregistry.WithForm(kindregistry.Namespaced) {
		out[k.GroupKind().String()] = namespaced.New(k.Claim().GroupVersionKind)
	}
	return out
}
