package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// publicHosts returns all exposed host names.
func (m *model) publicHosts() []services.Host {
	var out []services.Host
	for _, s := range m.Services {
		out = append(out, services.Host{Owner: s.Name, Field: s.FieldPath(".hostname"), Exposure: s.Exposure})
		out = append(out, s.Model.Hosts()...)
	}
	return slices.DeleteFunc(out, func(h services.Host) bool { return h.Exposure == nil })
}

// checkHostnames returns an error for a public host name that is too long for DNS, since it may be derived from the claim's name and
// namespace and the platform's domain, and for an address of two endpoints.
func (m *model) checkHostnames() error {
	const longest = 253
	owners := map[string]string{}
	for _, h := range m.publicHosts() {
		if n := len(h.Exposure.Hostname); n > longest {
			return invalid.Field("spec.global.domain", "the host name %s has %d characters, and at most %d are allowed; set a shorter domain",
				h.Exposure.Hostname, n, longest)
		}
		at := string(h.Exposure.Hostname) + h.Exposure.Path
		if other, ok := owners[at]; ok {
			return invalid.Field(h.Field, "%s uses %s already; set another name, or use global.exposure.routing Paths",
				other, h.Exposure.Hostname)
		}
		owners[at] = h.Owner
	}
	return nil
}
