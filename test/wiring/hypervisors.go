package wiring

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// screens are the first and the last port that a program connects to on hypervisors: libvirt assigns screens the lowest
// free port from 5900 on (src/qemu/qemu.conf: remote_display_port_min) to the one below the API server of Kubernetes;
// nova-compute assigns serial consoles the ports of [serial_console] port_range.
var screens = map[string][2]int{
	"nova-novncproxy": {5900, 6442}, "nova-spicehtml5proxy": {5900, 6442}, "nova-serialproxy": {10260, 16508},
}

// isConsoleProxy reports whether a container connects clients to screens.
func isConsoleProxy(c corev1.Container) bool {
	return slices.ContainsFunc(c.Command, func(word string) bool { _, ok := screens[word]; return ok })
}

// signed is the variable of the secret by which Neutron's agents on hypervisors sign the requests of servers
// (https://docs.openstack.org/nova/latest/admin/metadata-service.html).
const signed = "OS_NEUTRON__METADATA_PROXY_SHARED_SECRET"

// hypervisors returns the hypervisor networks that users name; the networks of a limit are only upper bounds.
func (w *inventory) hypervisors() []string {
	var out []string
	for _, doc := range w.inputs {
		each(doc, nil, func(path []string, m fields) {
			if !slices.Contains(path, "limits") {
				out = append(out, texts(m, "hypervisorNetworks")...)
			}
		})
	}
	return out
}

// hypervisorsOf returns the hypervisor networks that a pod communicates with: if users name networks for the pod's
// cell, those.
func (w *inventory) hypervisorsOf(p *pod) []string {
	out := w.hypervisors()
	for _, doc := range w.inputs {
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

// needHypervisors records the flows between a control plane and its hypervisors: none if the networks are unknown.
func (w *inventory) needHypervisors(p *pod, c corev1.Container) {
	if len(w.hypervisorsOf(p)) == 0 {
		return
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if ports, ok := screens[word]; ok {
			for _, port := range ports {
				w.need(p.String(), outsider(ofHypervisors), port, "screens listen there")
			}
		}
	}
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == signed }) {
		return
	}
	health := healthPorts(p)
	for _, q := range p.ports {
		if !slices.Contains(health, q.number) {
			w.need(outsider(ofHypervisors), p.String(), q.number, "servers read their metadata there")
		}
	}
}

// checkNetworks finds networks to which a policy allows egress and that users did not name. Blocks with exceptions name
// no network: they exclude private ones.
func (w *inventory) checkNetworks(p policy, h policySide) {
	for _, peer := range h.peers {
		if b := peer.IPBlock; b != nil && len(b.Except) == 0 && !strings.Contains(w.userProvidedText(), `"`+b.CIDR+`"`) {
			w.foundf("%s allows egress to network %s, which is not named by the claim or the platform.", p.object, b.CIDR)
		}
	}
}
