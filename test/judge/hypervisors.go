package judge

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// screens are the first and the last port that a program connects to on hypervisors: libvirt gives screens those from 5900 on, the lowest
// that is free (src/qemu/qemu.conf: remote_display_port_min), of which a hypervisor has some hundreds at most; nova-compute gives serial
// consoles those of [serial_console] port_range.
var screens = map[string][2]int{
	"nova-novncproxy": {5900, 6923}, "nova-spicehtml5proxy": {5900, 6923}, "nova-serialproxy": {10000, 20000},
}

// signed is the variable of the secret by which Neutron's agents on hypervisors sign the requests of virtual machines
// (https://docs.openstack.org/nova/latest/admin/metadata-service.html).
const signed = "OS_NEUTRON__METADATA_PROXY_SHARED_SECRET"

// hypervisors are the networks in which people say that they are; what a limit says is where they may be.
func (w *inventory) hypervisors() []string {
	var out []string
	for _, doc := range w.given {
		each(doc, nil, func(path []string, m fields) {
			if !slices.Contains(path, "limits") {
				out = append(out, texts(m, "hypervisorNetworks")...)
			}
		})
	}
	return out
}

// hypervisorsOf are the networks of those that a pod has to do with: of its cell, if it is one of a cell that people name.
func (w *inventory) hypervisorsOf(p *pod) []string {
	out := w.hypervisors()
	for _, doc := range w.given {
		each(doc, nil, func(_ []string, m fields) {
			for _, cell := range list(m, "cells") {
				if "nova-"+text(cell, "name") != p.labels["app.kubernetes.io/instance"] {
					continue
				}
				if out = texts(cell, "hypervisorNetworks"); len(out) == 0 {
					out = texts(m, "hypervisorNetworks")
				}
			}
		})
	}
	return out
}

// needHypervisors takes down what goes on between a control plane and its hypervisors. Where nobody says where they are, nothing does.
func (w *inventory) needHypervisors(p *pod, c corev1.Container) {
	if len(w.hypervisorsOf(p)) == 0 {
		return
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if ports, ok := screens[word]; ok {
			for _, port := range ports {
				w.need(p.String(), outsider(ofHypervisors), port, "screens are there")
			}
		}
	}
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == signed }) {
		return
	}
	health := healthPorts(p)
	for _, q := range p.ports {
		if !slices.Contains(health, q.number) {
			w.need(outsider(ofHypervisors), p.String(), q.number, "virtual machines ask there")
		}
	}
}

// checkNetworks finds networks that a policy lets out to and that nobody named. What is not for private networks names none.
func (w *inventory) checkNetworks(p policy, h policySide) {
	for _, peer := range h.peers {
		if b := peer.IPBlock; b != nil && len(b.Except) == 0 && !strings.Contains(w.userProvidedText(), `"`+b.CIDR+`"`) {
			w.foundf("%s lets out to network %s, which nobody named.", p.object, b.CIDR)
		}
	}
}
