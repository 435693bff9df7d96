package computetest

import (
	"maps"
	"net/http"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// detailsMicroversion is the microversion with which Nova lists servers with the properties that Details has.
const detailsMicroversion = "2.100"

// Details are the properties of a server that determine how it can be moved.
type Details struct {
	Metadata, ExtraSpecs, ImageProperties map[string]string
	MemoryMiB, DiskGiB, SwapMiB           int
	// BootsFromVolume is set if the server has no image.
	BootsFromVolume bool
	// Group is the ID of its server group, and VNICs are the types of its ports.
	Group string
	VNICs []string
}

// add adds the properties to a server in a response.
func (d Details) add(server map[string]any) {
	server["metadata"] = nonNil(d.Metadata)
	server["flavor"] = map[string]any{
		"ram": d.MemoryMiB, "disk": d.DiskGiB, "ephemeral": 0, "swap": d.SwapMiB, "vcpus": 1, "original_name": "m1",
		"extra_specs": nonNil(d.ExtraSpecs),
	}
	server["image"] = ""
	if !d.BootsFromVolume {
		properties := map[string]any{"base_image_ref": "i", "min_ram": 0}
		for key, value := range d.ImageProperties {
			properties[key] = value
		}
		server["image"] = map[string]any{"id": "i", "properties": properties}
	}
	server["scheduler_hints"] = nil
	if d.Group != "" {
		server["scheduler_hints"] = map[string]any{"group": []string{d.Group}, "query": []string{"x"}}
	}
}

func nonNil(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

// SetGroups sets the policies of server groups, by ID.
func (n *Nova) SetGroups(policies map[string]string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.groups = maps.Clone(policies)
}

func (n *Nova) serveGroup(w http.ResponseWriter, id string) bool {
	policy, known := n.groups[id]
	if known {
		identitytest.Write(w, http.StatusOK, map[string]any{"server_group": map[string]any{"id": id, "policy": policy}})
	}
	return known
}

// servePorts lists the ports of the servers on a host.
func (n *Nova) servePorts(w http.ResponseWriter, host string) {
	all := []any{}
	for _, h := range n.on(host) {
		for _, s := range h.Servers {
			for _, v := range h.Details[s.ID].VNICs {
				all = append(all, map[string]any{"id": "port-of-" + s.ID, "device_id": s.ID, "binding:vnic_type": v})
			}
		}
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"ports": all})
}
