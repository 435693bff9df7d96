package controlplane

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// databaseWas is what is observed of the database. The operator's webhook refuses to change some fields (those with the tag
// webhook:"inmutable" in https://github.com/mariadb-operator/mariadb-operator/tree/v25.10.4/api/v1alpha1), and each would hold back
// every other change of the object: these stay as they are, whatever the claim or the platform says by now. make test-webhooks asks the
// webhooks.
type databaseWas struct {
	// server, proxy and backup (that of backupResource) are nil, or do not exist, where there are none.
	server, proxy, backup *observe.Object
	// replicas are the members, of which primary takes the writes of a cluster.
	replicas int32
	primary  int64
	// host is where services connect to.
	host string
}

func databaseOf(seen observe.State) databaseWas {
	was := databaseWas{}
	was.server, _ = seen.Get(databaseResource)
	was.proxy, _ = seen.Get(proxyResource)
	was.backup, _ = seen.Get(backupResource)
	if n, ok := was.server.Int("spec", "replicas"); ok {
		was.replicas = int32(n) //nolint:gosec // Nine at most.
	}
	was.primary, _ = was.server.Int("spec", "galera", "primary", "podIndex")
	return was
}

// modern reports whether a cluster is new, or encrypts state transfers from its beginning.
func (w databaseWas) modern() bool {
	encrypted, _ := w.server.Bool("spec", "tls", "galeraSSTEnabled")
	return encrypted || !w.server.Exists()
}

// size is that of each volume, empty where there is none.
func (w databaseWas) size() controlplanev1.StorageSize {
	return controlplanev1.StorageSize(w.server.String("spec", "storage", "size"))
}

// keptClass is the storage class of a database that exists, or the one that a new one gets: volumes do not move.
func keptClass(server *observe.Object, wanted string) string {
	if server.Exists() {
		return server.String("spec", "storage", "storageClassName")
	}
	return wanted
}

// pullSecretsOf are the pull secrets of a MariaDB or MaxScale that exists, or those that a new one gets.
func pullSecretsOf(o *observe.Object, wanted []common.ObjectName) []common.ObjectName {
	if !o.Exists() {
		return wanted
	}
	var out []common.ObjectName
	for _, s := range o.List("spec", "imagePullSecrets") {
		m, _ := s.(map[string]any)
		name, _ := m["name"].(string)
		out = append(out, common.ObjectName(name))
	}
	return out
}

// databaseImage is an image of a MariaDB or MaxScale. One that cannot get the pull secrets of today keeps its image, too: that of today
// may lie where only they open.
func (m *model) databaseImage(name string, o *observe.Object, path ...string) (string, error) {
	if !slices.Equal(pullSecretsOf(o, m.images.PullSecrets), m.images.PullSecrets) {
		return o.String(path...), nil
	}
	return m.thirdPartyImage(name)
}

// checkMembers refuses to make a cluster of a server alone: members of a Galera cluster have a volume more, and the operator changes the
// pods of the StatefulSet that it has made, but not its volumes, which Kubernetes refuses. The other way changes the same StatefulSet, and
// nobody has seen it keep the data. A cluster may grow and shrink.
func (m *model) checkMembers() error {
	is, want := m.databaseWas.replicas, m.databaseReplicas()
	const (
		field = "spec.infrastructure.mariadb.replicas"
		out   = "say %d here to keep it, or make a backup and claim a new cloud with infrastructure.mariadb.restoreFrom"
	)
	switch {
	case is == 1 && want > 1:
		return invalid.Field(field, "the database is one server alone, of which its operator makes no cluster of %d; "+out, want, is)
	case is > 1 && want == 1:
		return invalid.Field(field, "the database is a Galera cluster of %d, which cannot become one server alone; "+out, is, is)
	}
	return nil
}

// checkStorage refuses what volumes cannot do.
func (m *model) checkStorage() error {
	was, want := m.databaseWas.size(), m.databaseStorage()
	if bytes(want) < bytes(was) {
		return invalid.Field("spec.infrastructure.mariadb.storageSize",
			"the database has volumes of %s, which cannot shrink to %s; leave it out, or say %s here to keep them", was, want, was)
	}
	return nil
}
