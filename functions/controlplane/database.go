package controlplane

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
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
		credentials = append(credentials, m.rootSecret(root))
	}
	if s := m.secretStore; s != nil {
		// Backups of the database are opened by the password of their time: a new one does not take its place.
		credentials = append(credentials, compose.Resource{Name: "database-root-backup", Object: secret.BackupOnce(root, *s, m.instance)})
	}
	var stages []compose.Stage
	if len(credentials) > 0 {
		stages = append(stages, credentials)
	}
	server := compose.Resource{Name: databaseResource, Object: m.server().Object(), Retain: true}
	if r := m.spec.Infrastructure.MariaDB.RestoreFrom; r != nil {
		server.After = []string{m.secrets.Resource(string(r.S3.CredentialsSecretRef.Name))}
	}
	stages = append(stages, compose.Stage{server})
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
			After:  []string{m.secrets.Resource(string(b.S3.CredentialsSecretRef.Name))},
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

// rootPassword says which of the objects that make the password of the database's root are wanted.
type rootPassword struct {
	generator, secret bool
	// runs: the database is there.
	runs bool
	// given is where the tenant keeps the password of a restored database.
	given *common.SecretKeyReference
}

// rootOf is both for a new database. One that starts from a backup has the password of the backup, which the claim has to name: a new one
// would not open the database, and would take the old one's place in the secret store. None is ever made for a database that runs, either,
// whatever became of restoreFrom. What there is stays.
func rootOf(restore *controlplanev1.RestoreFrom, seen observe.State) rootPassword {
	_, generator := seen.Get(rootGeneratorResource)
	_, made := seen.Get(rootSecretResource)
	_, runs := seen.Get(databaseResource)
	p := rootPassword{runs: runs}
	if restore != nil {
		p.given = restore.RootPasswordSecretRef.DeepCopy()
	}
	p.secret = made || !runs && (restore == nil || p.given != nil)
	p.generator = generator || p.secret && p.given == nil
	return p
}

// checkRoot refuses to restore a database that nobody could open.
func (m *model) checkRoot() error {
	if m.spec.Infrastructure.MariaDB.RestoreFrom == nil || m.root.runs || m.root.given != nil {
		return nil
	}
	return invalid.Field("spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef", "a database that starts from a backup has the root "+
		"password of that backup; put it into a Secret of the claim's namespace, and name the Secret and its key here")
}

// rootSecret is the Secret with root's password: generated, or that of the backup. It is filled once: the password of a database that is
// there stays what it is, also where the claim is made again and says nothing of a backup.
func (m *model) rootSecret(meta object.Meta) compose.Resource {
	out := compose.Resource{Name: rootSecretResource, Object: secret.Generated(meta, "root", nil), Retain: true}
	if given := m.root.given; given != nil {
		out.Object = secret.Given(meta, "root", m.secrets.Source(string(given.Name)), string(given.Key))
		out.After = m.copied(m.spec.Infrastructure.MariaDB.RestoreFrom.RootPasswordSecretRef)
	}
	return out
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
