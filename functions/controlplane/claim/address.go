package claim

import (
	"cmp"
	"fmt"
	"net"
	"strconv"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// RoutingPaths is the routing of an exposure in which all services share a host name and have different paths.
const RoutingPaths = "Paths"

// ExternalEndpoint returns the exposure of an endpoint with its own host name: the requested one, or a name below the domain of the claim.
// It returns nil without exposure.
func (c *Claim) ExternalEndpoint(requested common.Hostname, name string) *common.ServiceExposure {
	if c.Exposure.Type == exposure.None {
		return nil
	}
	return &common.ServiceExposure{Exposure: c.Exposure, TLS: c.TLS, Hostname: cmp.Or(requested, common.Hostname(name+"."+c.Domain))}
}

// ProxyURL returns the address of a console proxy: the external one, or the one inside the cluster without exposure.
func (c *Claim) ProxyURL(e *common.ServiceExposure, service string, port int32) string {
	if e == nil {
		return "https://" + net.JoinHostPort(c.HostOf(service), strconv.Itoa(int(port)))
	}
	scheme := "https"
	if !ptr.Deref(e.TLS.Enabled, true) {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s", scheme, e.Hostname)
}

// WebSocketURL converts an address to the WebSocket scheme: https becomes wss.
func WebSocketURL(url string) string { return "ws" + url[len("http"):] }

// HostOf returns the host name of a Service of the control plane.
func (c *Claim) HostOf(service string) string { return fmt.Sprintf("%s.%s.svc", service, c.Instance) }

// LocalReference returns a reference to an object of the same namespace.
func LocalReference(name string) common.LocalReference {
	return common.LocalReference{Name: common.ObjectName(name)}
}

// CheckExposed returns an error for a public host name if neither the claim nor the platform sets an exposure.
func (c *Claim) CheckExposed(field string, name common.Hostname) error {
	if name == "" || c.Exposure.Type != exposure.None {
		return nil
	}
	return invalid.Field(field, "requires an exposure, and global.exposure of the claim and of the platform have none; set "+
		"global.exposure, or remove the host name")
}
