package controlplane

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

const routingPaths = "Paths"

// addresses derives the endpoints of all services.
func (m *model) addresses() {
	for _, s := range m.services {
		s.endpoints.internal = s.internal(s.name, m.instance)
		s.endpoints.public = s.endpoints.internal
		if s.externalURL != "" {
			s.endpoints = endpoints{public: string(s.externalURL), internal: string(s.externalURL)}
			continue
		}
		if m.exposure.Type != exposure.None {
			m.expose(s)
		}
	}
}

// expose gives a service its public address.
func (m *model) expose(s *serviceState) {
	e := common.ServiceExposure{Exposure: m.exposure, TLS: m.tls, Hostname: s.basics.Hostname}
	if m.exposure.Routing == routingPaths && s.path != "" {
		e.Path = s.path
		e.Hostname = cmp.Or(e.Hostname, common.Hostname(m.domain))
	}
	e.Hostname = cmp.Or(e.Hostname, common.Hostname(s.name+"."+m.domain))
	scheme := "https"
	if !ptr.Deref(m.tls.Enabled, true) {
		scheme = "http"
	}
	s.endpoints.public = fmt.Sprintf("%s://%s%s%s", scheme, e.Hostname, e.Path, s.version)
	s.exposure = &e
}

// externalEndpoint returns the exposure of an endpoint with its own host name: the requested one, or a name below the domain of the claim.
// It returns nil without exposure.
func (m *model) externalEndpoint(requested common.Hostname, name string) *common.ServiceExposure {
	if m.exposure.Type == exposure.None {
		return nil
	}
	return &common.ServiceExposure{Exposure: m.exposure, TLS: m.tls, Hostname: cmp.Or(requested, common.Hostname(name+"."+m.domain))}
}

// host is a public host name with its owner and the field that sets it. A nil exposure means that it is not exposed.
type host struct {
	owner, field string
	exposure     *common.ServiceExposure
}

// publicHosts returns all exposed host names.
func (m *model) publicHosts() []host {
	var out []host
	for _, s := range m.services {
		out = append(out, host{s.name, s.field(".hostname"), s.exposure})
		if s.hosts != nil {
			out = append(out, s.hosts(m, s)...)
		}
	}
	return slices.DeleteFunc(out, func(h host) bool { return h.exposure == nil })
}

// checkHostnames returns an error for a public host name that is too long for DNS, since it may be derived from the claim's name and
// namespace and the platform's domain, and for an address of two endpoints.
func (m *model) checkHostnames() error {
	const longest = 253
	owners := map[string]string{}
	for _, h := range m.publicHosts() {
		if n := len(h.exposure.Hostname); n > longest {
			return invalid.Field("spec.global.domain", "the host name %s has %d characters, and at most %d are allowed; set a shorter domain",
				h.exposure.Hostname, n, longest)
		}
		at := string(h.exposure.Hostname) + h.exposure.Path
		if other, ok := owners[at]; ok {
			return invalid.Field(h.field, "%s uses %s already; set another name, or use global.exposure.routing Paths",
				other, h.exposure.Hostname)
		}
		owners[at] = h.owner
	}
	return nil
}
