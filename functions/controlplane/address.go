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

// addresses derives how the services are reached.
func (m *model) addresses() {
	for _, s := range m.services {
		s.endpoints.internal = s.internal(s.name, m.instance)
		s.endpoints.public = s.endpoints.internal
		if s.elsewhere != "" {
			s.endpoints = endpoints{public: string(s.elsewhere), internal: string(s.elsewhere)}
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

// externalEndpoint is how something is reached from outside that has a host name of its own: the one that the claim says, or one below its domain. Nil:
// it is not.
func (m *model) externalEndpoint(requested common.Hostname, name string) *common.ServiceExposure {
	if m.exposure.Type == exposure.None {
		return nil
	}
	return &common.ServiceExposure{Exposure: m.exposure, TLS: m.tls, Hostname: cmp.Or(requested, common.Hostname(name+"."+m.domain))}
}

// A host is a public host name: whose it is, the field that says it, and how it is exposed. Nil: it is not.
type host struct {
	owner, field string
	exposure     *common.ServiceExposure
}

// publicHosts are all of them.
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

// checkHostnames refuses a public host name that DNS does not carry, since it may be put together of the claim's name and namespace and
// the platform's domain, and one that two would answer at.
func (m *model) checkHostnames() error {
	const longest = 253
	taken := map[string]string{}
	for _, h := range m.publicHosts() {
		if n := len(h.exposure.Hostname); n > longest {
			return invalid.Field("spec.global.domain", "the host name %s has %d characters, of %d at most; give a shorter domain",
				h.exposure.Hostname, n, longest)
		}
		at := string(h.exposure.Hostname) + h.exposure.Path
		if other, ok := taken[at]; ok {
			return invalid.Field(h.field, "%s is reached at %s already; give another name, or use global.exposure.routing Paths",
				other, h.exposure.Hostname)
		}
		taken[at] = h.owner
	}
	return nil
}
