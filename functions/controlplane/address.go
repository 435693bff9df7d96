package controlplane

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// addressesOf returns the addresses of a service, and its exposure, nil if it is not reachable from outside.
func addressesOf(c *claim.Claim, s *services.State) (services.Endpoints, *common.ServiceExposure) {
	if s.ExternalURL != "" {
		return services.Endpoints{Public: string(s.ExternalURL), Internal: string(s.ExternalURL)}, nil
	}
	internal := s.Internal(s.Name, c.Instance)
	if c.Exposure.Type == exposure.None {
		return services.Endpoints{Public: internal, Internal: internal}, nil
	}
	e := common.ServiceExposure{Exposure: c.Exposure, TLS: c.TLS, Hostname: s.Basics.Hostname}
	if c.Exposure.Routing == claim.RoutingPaths && s.PublicPath != "" {
		e.Path = s.PublicPath
		e.Hostname = cmp.Or(e.Hostname, common.Hostname(c.Domain))
	}
	e.Hostname = cmp.Or(e.Hostname, common.Hostname(s.Name+"."+c.Domain))
	scheme := "https"
	if !ptr.Deref(c.TLS.Enabled, true) {
		scheme = "http"
	}
	return services.Endpoints{Public: fmt.Sprintf("%s://%s%s%s", scheme, e.Hostname, e.Path, s.Version), Internal: internal}, &e
}

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
