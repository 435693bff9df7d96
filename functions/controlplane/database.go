package controlplane

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/secret"
)

const (
	mariaDBName  = "mariadb"
	maxScaleName = "maxscale"
	mariaDBPort  = 3306
)

// database is MariaDB, with a proxy and backups where they are wanted.
func database(m *model) ([]compose.Stage, error) {
	root := m.meta(mariaDBName + "-root")
	var credentials compose.Stage
	if m.root.generator {
		credentials = append(credentials, compose.Resource{Name: rootGeneratorResource, Object: secret.Generator(root)})
	}
	if m.root.secret {
		credentials = append(credentials, compose.Resource{Name: rootSecretResource, Object: secret.Generated(root, "root", nil), Retain: true})
	}
	if s := m.secretStore; s != nil {
		// Backups of the database are opened by the password of their time: a new one does not take its place.
		credentials = append(credentials, compose.Resource{Name: "database-root-backup", Object: secret.BackupOnce(root, *s, m.instance)})
	}
	var stages []compose.Stage
	if len(credentials) > 0 {
		stages = append(stages, credentials)
	}
	stages = append(stages, compose.Stage{{Name: databaseResource, Object: m.server().Object(), Retain: true}})
	var around compose.Stage
	if n := m.maxScaleReplicas(); n > 0 {
		around = append(around, compose.Resource{
			Name:   proxyResource,
			Object: mariadb.MaxScale(m.meta(maxScaleName), mariaDBName, n, mariaDBPort, m.monitoring.Enabled),
		})
	}
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil {
		around = append(around, compose.Resource{
			Name:   "database-backup",
			Object: mariadb.PhysicalBackup(m.meta(mariaDBName), mariaDBName, string(b.Schedule), b.RetentionDays, bucket(b.S3)),
		})
	}
	if len(around) > 0 {
		stages = append(stages, around)
	}
	return stages, nil
}

// server is the MariaDB server or cluster.
func (m *model) server() mariadb.Server {
	db := m.spec.Infrastructure.MariaDB
	s := mariadb.Server{
		Meta:         m.meta(mariaDBName),
		Replicas:     m.databaseReplicas(),
		RootSecret:   mariaDBName + "-root",
		StorageSize:  string(ptr.Deref(db.StorageSize, storageSize(m.size.databaseStorage))),
		StorageClass: string(or(db.StorageClass, m.platform.StorageClass)),
		Resources:    merge.Over(db.Resources, m.size.databaseResources),
		Placement:    db.Placement,
		Issuer:       internalCA,
		Metrics:      ptr.Deref(db.Metrics.Enabled, m.monitoring.Enabled),
		PullSecrets:  m.images.PullSecrets,
		// A pool that does not fit the memory that a tenant gave would be killed for it, so only the size's own memory is used.
		BufferPool:  m.size.databaseBuffer,
		Connections: m.size.connections,
	}
	if m.maxScaleReplicas() > 0 {
		s.MaxScale = maxScaleName
	}
	if r := db.RestoreFrom; r != nil {
		b := bucket(r.S3)
		s.RestoreFrom, s.RestoreTime = &b, r.TargetRecoveryTime
	}
	return s
}

func (m *model) databaseReplicas() int32 {
	return ptr.Deref(m.spec.Infrastructure.MariaDB.Replicas, m.size.database)
}

// maxScaleReplicas is the number of proxies, 0 for none. One server alone needs no proxy unless the claim asks for one.
func (m *model) maxScaleReplicas() int32 {
	p := m.spec.Infrastructure.MariaDB.MaxScale
	n := ptr.Deref(p.Replicas, max(m.size.maxScale, 1))
	if ptr.Deref(p.Enabled, m.size.maxScale > 0 && m.databaseReplicas() > 1) {
		return n
	}
	return 0
}

// databaseHost is where services connect to: the proxy, or the member that takes all writes, or the only server.
func (m *model) databaseHost() string {
	name := mariaDBName
	switch {
	case m.maxScaleReplicas() > 0 && !m.proxyAwaited:
		name = maxScaleName
	case m.databaseReplicas() > 1:
		name = mariaDBName + "-primary"
	}
	return fmt.Sprintf("%s.%s.svc.%s", name, m.instance, m.clusterDomain())
}

// checkMembers refuses to make a cluster of a server alone: members of a Galera cluster have a volume more, and the operator changes the
// pods of the StatefulSet that it has made, but not its volumes, which Kubernetes refuses. The other way changes the same StatefulSet, and
// nobody has seen it keep the data. A cluster may grow and shrink.
func (m *model) checkMembers(seen observe.State) error {
	db, ok := seen.Get(databaseResource)
	if !ok {
		return nil
	}
	is, ok := db.Int("spec", "replicas")
	want := int64(m.databaseReplicas())
	const (
		field = "spec.infrastructure.mariadb.replicas"
		out   = "say %d here to keep it, or make a backup and claim a new cloud with infrastructure.mariadb.restoreFrom"
	)
	switch {
	case ok && is == 1 && want > 1:
		return invalid.Field(field, "the database is one server alone, of which its operator makes no cluster of %d; "+out, want, is)
	case ok && is > 1 && want == 1:
		return invalid.Field(field, "the database is a Galera cluster of %d, which cannot become one server alone; "+out, is, is)
	}
	return nil
}

// rootPassword says which of the objects that generate the password of the database's root are wanted.
type rootPassword struct{ generator, secret bool }

// rootOf is both for a new database. One that starts from a backup has the password of the backup, which somebody has to put into the
// Secret: a new one would not open the database, and would take the old one's place in the secret store. None is ever made for a database
// that runs, either, whatever became of restoreFrom. What there is stays.
func rootOf(restored bool, seen observe.State) rootPassword {
	_, generator := seen.Get(rootGeneratorResource)
	_, generated := seen.Get(rootSecretResource)
	_, runs := seen.Get(databaseResource)
	fresh := !restored && !runs
	return rootPassword{generator: generator || generated || fresh, secret: generated || fresh}
}

// awaitsProxy tells whether there is a Keystone that must not be sent to the proxy yet: a proxy that is added to a running
// cloud has to be ready first. A new Keystone waits for it anyway, and one that uses it goes on using it.
func awaitsProxy(seen observe.State) bool {
	k, running := seen.Get(keystoneResource)
	if !running || strings.HasPrefix(k.String("spec", "database", "host"), maxScaleName+".") {
		return false
	}
	proxy, ok := seen.Get(proxyResource)
	if !ok {
		return true
	}
	c, _ := proxy.Condition("Ready")
	return c.Status != "True"
}

func bucket(s controlplanev1.S3) mariadb.Bucket {
	return mariadb.Bucket{
		Name: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, Prefix: s.Prefix,
		Secret: string(s.CredentialsSecretRef.Name), PrivateCA: s.PrivateCA,
	}
}

func storageSize(s string) controlplanev1.StorageSize { return controlplanev1.StorageSize(s) }

func (m *model) pullSecrets() object.List {
	var out object.List
	for _, n := range m.images.PullSecrets {
		out = append(out, object.Map{"name": string(n)})
	}
	return out
}
