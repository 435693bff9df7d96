package infrastructure

import (
	"cmp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
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

// DatabaseUser is an existing service.
type DatabaseUser struct {
	// Host is the host of the database in the observed spec of the service; empty for a service without a database.
	Host string
	// Ready is true if all pods of the service match its spec.
	Ready bool
}

// deriveDatabase reads the observed state of the database and derives the state of the proxy.
func deriveDatabase(c *claim.Claim, users []DatabaseUser) (observedDatabase, proxyState) {
	previous, proxy := databaseOf(c.Observed), proxyState{replicas: maxScaleReplicas(c)}
	viaProxy, allReady := false, true
	for _, u := range users {
		previous.host = cmp.Or(previous.host, u.Host)
		viaProxy, allReady = viaProxy || strings.HasPrefix(u.Host, maxScaleName+"."), allReady && u.Ready
	}
	running := len(users) > 0
	named := previous.server.String("spec", "maxScaleRef", "name") != "" && previous.proxy.Exists()
	if proxy.replicas > 0 {
		condition, _ := previous.proxy.Condition("Ready")
		isReady := condition.Status == "True"
		// New services wait for the proxy anyway, and services that use it continue to.
		proxy.used = !running || viaProxy || isReady
		proxy.active = named || isReady
	} else if previous.proxy.Exists() {
		// Services are moved away from the proxy first, then the operator resumes failover, then the proxy is deleted.
		busy := running && (viaProxy || !allReady)
		proxy.active = named && busy
		if n, ok := previous.proxy.Int("spec", "replicas"); ok && (busy || named) {
			proxy.replicas = int32(n) //nolint:gosec // At most nine.
		}
	}
	return previous, proxy
}

// MaxScaleReplicas returns the number of proxies that the claim requests, 0 for none.
func (inf *Infrastructure) MaxScaleReplicas() int32 { return maxScaleReplicas(inf.Claim) }

// maxScaleReplicas returns the number of proxies that the claim requests, 0 for none. A single server has a proxy only if the claim enables
// it or sets its replicas.
func maxScaleReplicas(c *claim.Claim) int32 {
	p := c.Spec.Infrastructure.MariaDB.MaxScale
	n := ptr.Deref(p.Replicas, max(c.Size.MaxScale, 1))
	if ptr.Deref(p.Enabled, p.Replicas != nil || c.Size.MaxScale > 0 && databaseReplicas(c) > 1) {
		return n
	}
	return 0
}

// MaxScale returns the proxy.
func (inf *Infrastructure) MaxScale() (mariadb.Proxy, error) {
	previous := inf.observedDatabase.proxy
	image, err := inf.databaseImage(release.MaxScale, previous, "spec", "image")
	if err != nil {
		return mariadb.Proxy{}, err
	}
	exporter, err := inf.exporter(release.MaxScaleExporter, previous)
	priority := workload.PriorityInfrastructure
	if previous.Exists() {
		priority = previous.String("spec", "priorityClassName")
	}
	return mariadb.Proxy{
		Meta: inf.Meta(maxScaleName), Server: mariaDBName, Replicas: inf.proxy.replicas, Port: mariaDBPort, Issuer: claim.InternalCA,
		Image: image, Resources: inf.Size.ProxyResources, Placement: inf.Spec.Infrastructure.MariaDB.Placement,
		Exporter: exporter, Priority: priority, IPFamily: inf.OtherFamily(),
		PullSecrets: openstack.PullSecretsOf(previous, inf.Images.PullSecrets),
	}, err
}
