package nova

import (
	"cmp"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// specOf merges the Nova settings of the claim with the defaults of the size. The caller adds the settings that all services share. The
// error is about impossible servers of cells; the spec is complete in any case.
func specOf(m *services.Cloud, s *services.State) (novav1.NovaSpec, error) {
	n := m.Spec.Services.Nova
	metadata := ptr.Deref(n.Metadata, controlplanev1.NovaMetadata{})
	consoles := ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{})
	consoles.Graphical = cmp.Or(consoles.Graphical, novav1.VNC)
	out := novav1.NovaSpec{
		Placement: n.Placement,
		Queue:     m.QueueSpec(), KeyManager: m.KeyManager(),
		API:       m.Process(n.API),
		Scheduler: m.Daemon(n.Scheduler),
		Conductor: m.Daemon(n.Conductor),
		UWSGI:     s.Processes(),
		Consoles:  consoles.Consoles,
		Quotas:    n.Quotas,
		Archive:   ptr.Deref(n.Archive, common.Archive{}),
		Flavors:   n.Flavors, Aggregates: n.Aggregates,
	}
	if !metadata.PerCell {
		out.Metadata = new(m.Process(&metadata.Process))
	}
	for _, c := range cellsOf(n) {
		cell := novav1.Cell{Name: c.Name, Disabled: c.Disabled, Conductor: m.Daemon(c.Conductor, n.Conductor)}
		if cell.HypervisorNetworks = c.HypervisorNetworks; len(cell.HypervisorNetworks) == 0 {
			cell.HypervisorNetworks = n.HypervisorNetworks
		}
		if metadata.PerCell {
			cell.Metadata = new(m.Process(c.Metadata, &metadata.Process))
		}
		own := ptr.Deref(c.Consoles, controlplanev1.CellConsoles{})
		cell.Consoles.Process = m.Proxies(&own.Process, &consoles.Process)
		if consoles.Graphical != novav1.None {
			cell.Consoles.Exposure = m.ExternalEndpoint(own.Hostname, "console-"+c.Name)
		}
		if consoles.Serial {
			cell.Consoles.SerialExposure = m.ExternalEndpoint(own.SerialHostname, "serial-"+c.Name)
		}
		out.Cells = append(out.Cells, cell)
	}
	return out, cellServers(m, s, &out)
}
