package compute

import (
	"fmt"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// pinAnnotation is set on pods that use the RPC version of an older nova-compute, because a hypervisor still runs an
// earlier release. Its value is the service version of the oldest one.
//
// With [upgrade_levels] compute = auto, a process determines the version once, at its first call to a hypervisor, and keeps
// it until it exits. Neither a signal (nova.conductor.manager.ConductorManager.reset) nor time
// (nova.compute.rpcapi._ROUTER) refreshes it. Therefore the pods are replaced when the oldest version changes.
const pinAnnotation = novav1.Group + "/oldest-compute"

// versions are the service versions of nova-compute in each release (nova.objects.service.SERVICE_VERSION).
var versions = map[release.Release]int64{"2025.1": 68, "2025.2": 70, "2026.1": 72, "2026.2": 74}

// Oldest is the observed service version of the oldest nova-compute. Version 0: no nova-compute exists.
type Oldest struct {
	Version int64
	// HostsListed is true if the hosts of all cells were listed, or if there are no cells. A CellMapping alone is not
	// sufficient: a cell that is mapped again still has its earlier hosts.
	HostsListed bool
}

// And returns the older of two versions.
func (o Oldest) And(other Oldest) Oldest {
	if o.Version == 0 || other.Version != 0 && other.Version < o.Version {
		o.Version = other.Version
	}
	o.HostsListed = o.HostsListed && other.HostsListed
	return o
}

// OldestOf returns the version that a resource of a cell reports: its CellMapping, or the cell itself.
func OldestOf(observed observe.State, resource string) Oldest {
	o, ok := observed.Get(resource)
	if !ok {
		return Oldest{}
	}
	version, known := o.Int("status", "oldestCompute")
	return Oldest{Version: version, HostsListed: known}
}

// Pin returns the annotations of pods that call hypervisors, in the effective release. While the oldest version is unknown,
// the current annotation is kept.
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
