package compute

import (
	"fmt"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// pinAnnotation is on pods that speak to hypervisors as the oldest of them, which is of an earlier release: with which version that is.
//
// With [upgrade_levels] compute = auto a process looks once, when it first speaks to a hypervisor, and keeps what it has found until it
// ends: nothing makes it look again, neither a signal (nova.conductor.manager.ConductorManager.reset) nor time
// (nova.compute.rpcapi._ROUTER). So its pods are replaced when another hypervisor is the oldest, or none is old any more.
const pinAnnotation = novav1.Group + "/oldest-compute"

// versions are what nova-compute of each release says of itself (nova.objects.service.SERVICE_VERSION).
var versions = map[release.Release]int64{"2025.1": 68, "2025.2": 70, "2026.1": 72, "2026.2": 74}

// Oldest is what is known of the oldest nova-compute. 0: there is none.
type Oldest struct {
	Version int64
	// HostsListed: the hosts of every cell were listed, or there are none. That a cell is known to Nova says nothing of its hosts: one that is
	// recorded anew has those that it had before.
	HostsListed bool
}

// And is the older of two.
func (o Oldest) And(other Oldest) Oldest {
	if o.Version == 0 || other.Version != 0 && other.Version < o.Version {
		o.Version = other.Version
	}
	o.HostsListed = o.HostsListed && other.HostsListed
	return o
}

// OldestOf is what a resource of a cell reports: its CellMapping, or the cell itself.
func OldestOf(observed observe.State, resource string) Oldest {
	o, ok := observed.Get(resource)
	if !ok {
		return Oldest{}
	}
	version, known := o.Int("status", "oldestCompute")
	return Oldest{Version: version, HostsListed: known}
}

// Pin are the annotations of pods that speak to hypervisors, in the release that is in effect. While it is not known which is the oldest,
// they stay as they are.
func Pin(observed observe.State, pods string, oldest Oldest, r release.Release) map[string]string {
	pin := ""
	switch running, ok := observed.Get(pods); {
	case oldest.HostsListed && oldest.Version > 0 && oldest.Version < versions[r]:
		pin = fmt.Sprint(oldest.Version)
	case !oldest.HostsListed && ok:
		pin = running.String("spec", "template", "metadata", "annotations", pinAnnotation)
	}
	if pin == "" {
		return nil
	}
	return map[string]string{pinAnnotation: pin}
}
