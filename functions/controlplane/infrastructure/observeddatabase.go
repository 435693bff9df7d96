package infrastructure

import (
	"slices"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// observedDatabase is the observed state of the database. The operator's webhook rejects changes of some fields (tagged webhook:"inmutable"
// in https://github.com/mariadb-operator/mariadb-operator/tree/v25.10.4/api/v1alpha1), and a rejected change would block all other changes
// of the object. These fields therefore keep their observed values. make test-webhooks tests this with the webhooks.
type observedDatabase struct {
	// server, proxy and backup (named backupResource) are nil or do not exist if they are not observed.
	server, proxy, backup *observe.Object
	// replicas is the number of members.
	replicas int32
	// host is the host that services connect to.
	host string
}

func databaseOf(observedState observe.State) observedDatabase {
	previous := observedDatabase{}
	previous.server, _ = observedState.Get(DatabaseResource)
	previous.proxy, _ = observedState.Get(proxyResource)
	previous.backup, _ = observedState.Get(backupResource)
	if n, ok := previous.server.Int("spec", "replicas"); ok {
		previous.replicas = int32(n) //nolint:gosec // At most nine.
	}
	return previous
}

// size returns the size of each volume, empty without a database.
func (w observedDatabase) size() controlplanev1.StorageSize {
	return controlplanev1.StorageSize(w.server.String("spec", "storage", "size"))
}

// databaseImage returns an image of MariaDB or MaxScale. An object whose pull secrets cannot be changed also keeps its image: the new image
// may require the new pull secrets.
func (inf *Infrastructure) databaseImage(name string, o *observe.Object, path ...string) (string, error) {
	if !slices.Equal(openstack.PullSecretsOf(o, inf.Images.PullSecrets), inf.Images.PullSecrets) {
		return o.String(path...), nil
	}
	return inf.thirdPartyImage(name)
}

// checkMembers returns an error for a change between a single server and a cluster.
func (inf *Infrastructure) checkMembers() error {
	return checkCluster("spec.infrastructure.mariadb.replicas", inf.observedDatabase.replicas, inf.DatabaseReplicas(),
		"make a backup and claim a new cloud with infrastructure.mariadb.restoreFrom")
}

// checkCluster returns an error for a change between a single server and a Galera cluster. Members of a cluster have an additional volume,
// and the operator updates the pods of the existing StatefulSet, but Kubernetes rejects new volumes. The reverse changes the same
// StatefulSet, and it is untested whether data is kept. A cluster can be scaled up and down.
func checkCluster(field string, is, want int32, instead string) error {
	switch {
	case is == 1 && want > 1:
		return invalid.Field(field, "the database is a single server, which the operator cannot convert to a cluster of %d; "+
			"set it to %d to keep the current number, or %s", want, is, instead)
	case is > 1 && want == 1:
		return invalid.Field(field, "the database is a Galera cluster of %d, which cannot be reduced to a single server; "+
			"set it to %d to keep the current number, or %s", is, is, instead)
	}
	return nil
}

// checkStorage returns an error for smaller volumes, because volumes cannot shrink.
func (inf *Infrastructure) checkStorage() error {
	return checkVolumes("spec.infrastructure.mariadb.storageSize", inf.observedDatabase.size(), inf.DatabaseStorage())
}

func checkVolumes(field string, previous, want controlplanev1.StorageSize) error {
	if isLarger(previous, want) {
		return invalid.Field(field, "the database volumes have %s and cannot be reduced to %s; remove it, or set it to %s to keep the volumes",
			previous, want, previous)
	}
	return nil
}
