package controlplane

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// addressesOf returns the addresses of a service, and its exposure, nil if it is not reachable from outside.
func addressesOf(c *claim.Claim, s *serviceState) (endpoints, *common.ServiceExposure) {
	if s.externalURL != "" {
		return endpoints{public: string(s.externalURL), internal: string(s.externalURL)}, nil
	}
	internal := s.internal(s.name, c.Instance)
	if c.Exposure.Type == exposure.None {
		return endpoints{public: internal, internal: internal}, nil
	}
	e := common.ServiceExposure{Exposure: c.Exposure, TLS: c.TLS, Hostname: s.basics.Hostname}
	if c.Exposure.Routing == claim.RoutingPaths && s.path != "" {
		e.Path = s.path
		e.Hostname = cmp.Or(e.Hostname, common.Hostname(c.Domain))
	}
	e.Hostname = cmp.Or(e.Hostname, common.Hostname(s.name+"."+c.Domain))
	scheme := "https"
	if !ptr.Deref(c.TLS.Enabled, true) {
		scheme = "http"
	}
	return endpoints{public: fmt.Sprintf("%s://%s%s%s", scheme, e.Hostname, e.Path, s.version), internal: internal}, &e
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
