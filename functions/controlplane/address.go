package controlplane

import (
	"cmp"
	"fmt"

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
		if m.exposure.Type != exposure.None {
			m.expose(s)
		}
	}
}

// expose gives a service its public address.
func (m *model) expose(s *serviceState) {
	e := common.ServiceExposure{Exposure: m.exposure, TLS: m.tls, Hostname: s.basics.Hostname}
	if m.exposure.Routing == routingPaths {
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

// publicAddresses are those that the companion visits, as clients outside do.
func (m *model) publicAddresses() []string {
	var out []string
	for _, s := range m.services {
		if s.exposure != nil {
			out = append(out, s.endpoints.public)
		}
	}
	return out
}

// checkHostnames refuses a public host name that DNS does not carry, since it may be put together of the claim's name and namespace and
// the platform's domain, and one that two services would answer at.
func (m *model) checkHostnames() error {
	const longest = 253
	taken := map[string]string{}
	for _, s := range m.services {
		if s.exposure == nil {
			continue
		}
		if n := len(s.exposure.Hostname); n > longest {
			return invalid.Field("spec.global.domain", "the host name %s has %d characters, of %d at most; give a shorter domain",
				s.exposure.Hostname, n, longest)
		}
		at := string(s.exposure.Hostname) + s.exposure.Path
		if other, ok := taken[at]; ok {
			return invalid.Field(s.field(".hostname"), "%s is reached at %s already; give another name, or use global.exposure.routing Paths",
				other, s.exposure.Hostname)
		}
		taken[at] = s.name
	}
	return nil
}
