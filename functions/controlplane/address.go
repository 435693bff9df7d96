package controlplane

import (
	"cmp"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

const (
	// identityPath is where the identity service lies below a common host name.
	identityPath = "/identity"
	routingPaths = "Paths"
)

// addresses derives how the services are reached.
func (m *model) addresses() {
	m.endpoints.internal = keystonev1.InternalURL(keystoneName, m.instance)
	m.endpoints.public = m.endpoints.internal
	if m.exposure.Type == exposure.None {
		return
	}
	e := common.ServiceExposure{Exposure: m.exposure, TLS: m.tls}
	e.Hostname = m.spec.Services.Keystone.Hostname
	if m.exposure.Routing == routingPaths {
		e.Path = identityPath
		e.Hostname = cmp.Or(e.Hostname, common.Hostname(m.domain))
	}
	e.Hostname = cmp.Or(e.Hostname, common.Hostname(keystoneName+"."+m.domain))
	scheme := "https"
	if !ptr.Deref(m.tls.Enabled, true) {
		scheme = "http"
	}
	m.endpoints.public = fmt.Sprintf("%s://%s%s/v3", scheme, e.Hostname, e.Path)
	m.identity = &e
}

// publicAddresses are those that the companion visits, as clients outside do.
func (m *model) publicAddresses() []string {
	if m.endpoints.public == m.endpoints.internal {
		return nil
	}
	return []string{m.endpoints.public}
}
