package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// hostDomains limits the domains of host names.
var hostDomains = limit.List{
	Name: "domains", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.Domains) }, Allows: limit.Domain,
}

// publicAddress returns the public URL of an object store. Empty: it has none.
func (m *model) publicAddress(o storagev1.ObjectStore) string {
	switch {
	case o.Hostname == "":
		return ""
	case !ptr.Deref(m.publicTLS().Enabled, true):
		return "http://" + string(o.Hostname)
	}
	return "https://" + string(o.Hostname)
}

// publicTLS returns the platform's TLS settings. Without TLS there is no certificate.
func (m *model) publicTLS() common.TLS {
	out := ptr.Deref(m.platform.TLS, common.TLS{})
	if !ptr.Deref(out.Enabled, true) {
		out.IssuerRef = nil
	}
	return out
}

// checkHostnames rejects host names that are not exposed, that the platform does not allow, or that two object stores use.
func (m *model) checkHostnames() error {
	var errs []error
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	owner := map[common.Hostname]string{}
	for i, o := range m.spec.ObjectStores {
		if o.Hostname == "" {
			continue
		}
		field := fmt.Sprintf("spec.objectStores[%d].hostname", i)
		if e := m.platform.Exposure; e == nil || e.Type == exposure.None {
			errs = append(errs, invalid.Field(field, "the platform does not expose services (exposure of the PlatformConfig); remove it"))
		}
		if other := owner[o.Hostname]; other != "" {
			errs = append(errs, invalid.Field(field, "object store %s has this host name already; choose another one", other))
		}
		owner[o.Hostname] = o.Name
		if slices.ContainsFunc(limits, func(l platformv1.Limit) bool { return l.Domains != nil }) {
			errs = append(errs, hostDomains.CheckAny(limits, m.claim.Namespace, field, []string{string(o.Hostname)}))
			continue
		}
		own := strings.TrimPrefix(limit.Expand("{namespace}."+string(m.platform.Domain), m.claim.Namespace), ".")
		if !limit.Domain(own, string(o.Hostname)) {
			errs = append(errs, invalid.Field(field, "%q is not a subdomain of %s, and no limit of the platform allows other domains in namespace "+
				"%q; choose a host name in that domain, or ask the platform team to add the domain to a limit", o.Hostname, own, m.claim.Namespace))
		}
	}
	return errors.Join(errs...)
}

// exposed builds the objects that expose object stores through the Gateway or the Ingress controller, which connects to them with verified
// HTTPS.
func (m *model) exposed() compose.Stage {
	var out compose.Stage
	for _, o := range m.spec.ObjectStores {
		if o.Hostname == "" {
			continue
		}
		name := rook.GatewayName(o.Name)
		e := common.ServiceExposure{Exposure: *m.platform.Exposure, Hostname: o.Hostname, TLS: m.publicTLS()}
		b := exposure.Backend{Service: name, Port: rook.GatewayPort, Host: m.host(o.Name), CASecret: name, Limits: capacity.Of("storage",
			"rgw").Limits(capacity.Defaults, 0)}
		objects := exposure.IngressFor
		if e.Type == exposure.GatewayAPI {
			objects = exposure.Route
		}
		for _, object := range objects(m.meta(name), e, b) {
			out = append(out, compose.Resource{Name: exposureName(object) + "-" + o.Name, Object: object})
		}
	}
	return out
}

// exposureName returns the prefix of the composed resource name of an object that exposes an object store.
func exposureName(o runtime.Object) string {
	return map[string]string{
		"HTTPRoute": "route", "BackendTLSPolicy": "backend-policy", "Ingress": "ingress", "Certificate": "public-certificate",
	}[o.GetObjectKind().GroupVersionKind().Kind]
}
