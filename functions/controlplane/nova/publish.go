package nova

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	novacompute "github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
)

// Report copies the state of the cells.
func (x model) Report(status *controlplanev1.ControlPlaneClusterStatus) {
	s := x.State
	for _, reported := range s.Observed.List("status", "cells") {
		cell, _ := reported.(map[string]any)
		name, _ := cell["name"].(string)
		phase, _ := cell["phase"].(string)
		if name == "" || phase == "" {
			continue
		}
		hosts, _ := cell["computeNodes"].(float64)
		status.Cells = append(status.Cells, controlplanev1.CellStatus{Name: name, Phase: phase, ComputeNodes: int32(hosts)})
	}
}

// Publish adds the cells and the credentials of their hypervisors.
func (x model) Publish(to *controlplanev1.HypervisorAccess) {
	m, s := x.Cloud, x.State
	to.CredentialSecretRef = claim.LocalReference(novacompute.Secret(s.Name, novacompute.CredentialSecret))
	to.MetadataSecretRef = claim.LocalReference(novacompute.Secret(s.Name, novacompute.MetadataSecret))
	spec := x.spec
	for _, c := range spec.Cells {
		name := novacellv1.Name(s.Name, c.Name)
		cell := controlplanev1.CellAccess{
			Name: c.Name, Queue: spec.Queue, ExternalQueue: m.ExternalQueue(),
			VirtualHost:    spec.Queue.VirtualHost(novacompute.CellName(c.Name)),
			QueueSecretRef: claim.LocalReference(novacompute.Secret(name, novacompute.QueueSecret)), MetadataHost: m.HostOf(s.Name + "-metadata"),
			HypervisorNetworks: c.HypervisorNetworks,
		}
		if c.Queue != nil {
			cell.Queue, cell.ExternalQueue = *c.Queue, nil
		}
		if c.Metadata != nil {
			cell.MetadataHost = m.HostOf(name + "-metadata")
		}
		switch spec.Consoles.Graphical {
		case novav1.VNC:
			cell.VNCURL = common.URL(m.ProxyURL(c.Consoles.Exposure, name+"-vnc", novav1.VNCPort) + novacompute.VNCPage)
			cell.VNCIssuerRef = &common.IssuerReference{Name: common.ObjectName(novacellv1.VNCIssuer(name)), Kind: "Issuer"}
		case novav1.SPICE:
			cell.SPICEURL = common.URL(m.ProxyURL(c.Consoles.Exposure, name+"-spice", novav1.SPICEPort) + novacompute.SPICEPage)
		}
		if spec.Consoles.Serial {
			cell.SerialURL = claim.WebSocketURL(m.ProxyURL(c.Consoles.SerialExposure, name+"-serial", novav1.SerialPort))
		}
		to.Cells = append(to.Cells, cell)
	}
}
