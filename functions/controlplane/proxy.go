package controlplane

import (
	"cmp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// proxyState is what becomes of the database's proxy.
type proxyState struct {
	// replicas is how many there are to be, 0 for none.
	replicas int32
	// used: services connect to it.
	used bool
	// active: the MariaDB object names it. From then on its operator leaves it to the proxy who takes the writes, does not lead the Service
	// mariadb-primary away from a member that is lost, and calls a database that names a proxy that does not exist not ready
	// (IsMaxScaleEnabled in v25.10.4). So a database names one that is ready, until nobody uses it any more.
	active bool
}

// deriveDatabase looks at what there is of the database.
func (m *model) deriveDatabase(observedState observe.State) {
	m.databaseWas = databaseOf(observedState)
	m.proxy = proxyState{replicas: m.maxScaleReplicas()}
	running, through, settled := false, false, true
	for _, s := range m.services {
		if !s.seen.Exists() {
			continue
		}
		host := s.seen.String("spec", "database", "host")
		m.databaseWas.host = cmp.Or(m.databaseWas.host, host)
		running, through, settled = true, through || strings.HasPrefix(host, maxScaleName+"."), settled && s.ready()
	}
	previous := m.databaseWas
	named := previous.server.String("spec", "maxScaleRef", "name") != "" && previous.proxy.Exists()
	if m.proxy.replicas > 0 {
		c, _ := previous.proxy.Condition("Ready")
		isReady := c.Status == "True"
		// New services wait for the proxy anyway, and those that use it go on using it.
		m.proxy.used = !running || through || isReady
		m.proxy.active = named || isReady
	} else if previous.proxy.Exists() {
		// Whoever connects to it is led away first, then the operator takes over, then it goes.
		busy := running && (through || !settled)
		m.proxy.active = named && busy
		if n, ok := previous.proxy.Int("spec", "replicas"); ok && (busy || named) {
			m.proxy.replicas = int32(n) //nolint:gosec // Nine at most.
		}
	}
}

// maxScaleReplicas is the number of proxies that the claim asks for, 0 for none. One server alone needs no proxy unless the claim asks for
// one, be it by a number.
func (m *model) maxScaleReplicas() int32 {
	p := m.spec.Infrastructure.MariaDB.MaxScale
	n := ptr.Deref(p.Replicas, max(m.size.maxScale, 1))
	if ptr.Deref(p.Enabled, p.Replicas != nil || m.size.maxScale > 0 && m.databaseReplicas() > 1) {
		return n
	}
	return 0
}

// maxScale is the proxy.
func (m *model) maxScale() (mariadb.Proxy, error) {
	previous := m.databaseWas.proxy
	image, err := m.databaseImage(release.MaxScale, previous, "spec", "image")
	if err != nil {
		return mariadb.Proxy{}, err
	}
	exporter, err := m.exporter(release.MaxScaleExporter, previous)
	priority := workload.PriorityInfrastructure
	if previous.Exists() {
		priority = previous.String("spec", "priorityClassName")
	}
	return mariadb.Proxy{
		Meta: m.meta(maxScaleName), Server: mariaDBName, Replicas: m.proxy.replicas, Port: mariaDBPort, Issuer: internalCA,
		Image: image, Resources: m.size.proxyResources, Placement: m.spec.Infrastructure.MariaDB.Placement,
		Exporter: exporter, Priority: priority, PullSecrets: openstack.PullSecretsOf(previous, m.images.PullSecrets),
	}, err
}
