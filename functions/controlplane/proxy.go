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

// proxyState is the derived state of the database's proxy.
type proxyState struct {
	// replicas is the desired number of proxies, 0 for none.
	replicas int32
	// used: services connect to the proxy.
	used bool
	// active: the MariaDB object references the proxy. The operator then leaves failover to the proxy, does not move the Service
	// mariadb-primary away from a lost member, and reports a database as not ready if its proxy does not exist (IsMaxScaleEnabled in
	// v25.10.4). So a database references a proxy that is ready, until no service uses it any more.
	active bool
}

// deriveDatabase reads the observed state of the database and derives the state of the proxy.
func (m *model) deriveDatabase(observedState observe.State) {
	m.observedDatabase = databaseOf(observedState)
	m.proxy = proxyState{replicas: m.maxScaleReplicas()}
	running, viaProxy, allReady := false, false, true
	for _, s := range m.services {
		if !s.observed.Exists() {
			continue
		}
		host := s.observed.String("spec", "database", "host")
		m.observedDatabase.host = cmp.Or(m.observedDatabase.host, host)
		running, viaProxy, allReady = true, viaProxy || strings.HasPrefix(host, maxScaleName+"."), allReady && s.ready()
	}
	previous := m.observedDatabase
	named := previous.server.String("spec", "maxScaleRef", "name") != "" && previous.proxy.Exists()
	if m.proxy.replicas > 0 {
		c, _ := previous.proxy.Condition("Ready")
		isReady := c.Status == "True"
		// New services wait for the proxy anyway, and services that use it continue to.
		m.proxy.used = !running || viaProxy || isReady
		m.proxy.active = named || isReady
	} else if previous.proxy.Exists() {
		// Services are moved away from the proxy first, then the operator resumes failover, then the proxy is deleted.
		busy := running && (viaProxy || !allReady)
		m.proxy.active = named && busy
		if n, ok := previous.proxy.Int("spec", "replicas"); ok && (busy || named) {
			m.proxy.replicas = int32(n) //nolint:gosec // At most nine.
		}
	}
}

// maxScaleReplicas returns the number of proxies that the claim requests, 0 for none. A single server has a proxy only if the claim enables
// it or sets its replicas.
func (m *model) maxScaleReplicas() int32 {
	p := m.spec.Infrastructure.MariaDB.MaxScale
	n := ptr.Deref(p.Replicas, max(m.size.maxScale, 1))
	if ptr.Deref(p.Enabled, p.Replicas != nil || m.size.maxScale > 0 && m.databaseReplicas() > 1) {
		return n
	}
	return 0
}

// maxScale returns the proxy.
func (m *model) maxScale() (mariadb.Proxy, error) {
	previous := m.observedDatabase.proxy
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
