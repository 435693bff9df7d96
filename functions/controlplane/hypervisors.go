package controlplane

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
)

// hypervisorAccess returns the settings of pools of hypervisors, collected from the services. Nil: no service has cells.
func (m *model) hypervisorAccess() *controlplanev1.HypervisorAccess {
	identity := m.identitySpec()
	out := &controlplanev1.HypervisorAccess{
		Region: m.spec.Global.Region, IdentityURL: identity.InternalURL, CASecretRef: identity.CASecretRef,
		KeyManager: m.keyManager(),
	}
	if m.identity.exposure != nil {
		out.PublicIdentityURL = identity.PublicURL
	}
	for _, s := range m.services {
		if s.describeForHypervisors != nil {
			s.describeForHypervisors(m, s, out)
		}
	}
	if len(out.Cells) == 0 {
		return nil
	}
	return out
}

// proxyURL returns the address of a console proxy: the external one, or the one inside the cluster without exposure.
func (m *model) proxyURL(e *common.ServiceExposure, service string, port int32) string {
	if e == nil {
		return "https://" + net.JoinHostPort(m.hostOf(service), strconv.Itoa(int(port)))
	}
	scheme := "https"
	if !ptr.Deref(e.TLS.Enabled, true) {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s", scheme, e.Hostname)
}

// webSocket converts an address to the WebSocket scheme: https becomes wss.
func webSocket(url string) string { return "ws" + url[len("http"):] }

// hostOf returns the host name of a Service of the control plane.
func (m *model) hostOf(service string) string { return fmt.Sprintf("%s.%s.svc", service, m.instance) }

func local(name string) common.LocalReference {
	return common.LocalReference{Name: common.ObjectName(name)}
}
