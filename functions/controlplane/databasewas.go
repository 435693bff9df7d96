package controlplane

import (
	"slices"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// observedDatabase is what is observed of the database. The operator's webhook refuses to change some fields (those with the tag
// webhook:"inmutable" in https://github.com/mariadb-operator/mariadb-operator/tree/v25.10.4/api/v1alpha1), and each would hold back
// every other change of the object: these stay as they are, whatever the claim or the platform says by now. make test-webhooks asks the
// webhooks.
type observedDatabase struct {
	// server, proxy and backup (that of backupResource) are nil, or do not exist, where there are none.
	server, proxy, backup *observe.Object
	// replicas are the members.
	replicas int32
	// host is where services connect to.
	host string
}

func databaseOf(observedState observe.State) observedDatabase {
	previous := observedDatabase{}
	previous.server, _ = observedState.Get(databaseResource)
	previous.proxy, _ = observedState.Get(proxyResource)
	previous.backup, _ = observedState.Get(backupResource)
	if n, ok := previous.server.Int("spec", "replicas"); ok {
		previous.replicas = int32(n) //nolint:gosec // Nine at most.
	}
	return previous
}

// size is that of each volume, empty where there is none.
func (w observedDatabase) size() controlplanev1.StorageSize {
	return controlplanev1.StorageSize(w.server.String("spec", "storage", "size"))
}

// databaseImage is an image of a MariaDB or MaxScale. One that cannot get the pull secrets of today keeps its image, too: that of today
// may lie where only they open.
func (m *model) databaseImage(name string, o *observe.Object, path ...string) (string, error) {
	if !slices.Equal(openstack.PullSecretsOf(o, m.images.PullSecrets), m.images.PullSecrets) {
		return o.String(path...), nil
	}
	return m.thirdPartyImage(name)
}

// checkMembers refuses to make a cluster of a server alone.
func (m *model) checkMembers() error {
	return checkCluster("spec.infrastructure.mariadb.replicas", m.databaseWas.replicas, m.databaseReplicas(),
		"make a backup and claim a new cloud with infrastructure.mariadb.restoreFrom")
}

// checkCluster refuses to make a cluster of a server alone: members of a Galera cluster have a volume more, and the operator changes the
// pods of the StatefulSet that it has made, but not its volumes, which Kubernetes refuses. The other way changes the same StatefulSet, and
// nobody has seen it keep the data. A cluster may grow and shrink.
func checkCluster(field string, is, want int32, instead string) error {
	switch {
	case is == 1 && want > 1:
		return invalid.Field(field, "the database is one server alone, of which its operator makes no cluster of %d; "+
			"say %d here to keep it, or %s", want, is, instead)
	case is > 1 && want == 1:
		return invalid.Field(field, "the database is a Galera cluster of %d, which cannot become one server alone; "+
			"say %d here to keep it, or %s", is, is, instead)
	}
	return nil
}

// checkStorage refuses what volumes cannot do.
func (m *model) checkStorage() error {
	return checkVolumes("spec.infrastructure.mariadb.storageSize", m.databaseWas.size(), m.databaseStorage())
}

func checkVolumes(field string, previous, want controlplanev1.StorageSize) error {
	if bytes(want) < bytes(previous) {
		return invalid.Field(field, "the database has volumes of %s, which cannot shrink to %s; leave it out, or say %s here to keep them",
			previous, want, previous)
	}
	return nil
}
