package controlplane

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const (
	mariaDBName  = "mariadb"
	maxScaleName = "maxscale"
	mariaDBPort  = common.DatabasePort
)

// database composes MariaDB, with a proxy if requested. The proxy is created after the members are ready: without their certificates its
// operator would retry with a growing backoff.
func database(m *model) ([]compose.Stage, error) {
	if e := m.externalMariaDB(); e != nil {
		return externalDatabase(m, *e), nil
	}
	root := m.meta(mariaDBName + "-root")
	var credentials compose.Stage
	if m.root.generator {
		credentials = append(credentials, compose.Resource{Name: rootGeneratorResource, Object: secret.Generator(root)})
	}
	if m.root.secret {
		credentials = append(credentials, m.rootSecret(root))
	}
	if s := m.secretStore; s != nil {
		// Backups of the database require the password of their time, so a new password does not replace it in the secret store.
		credentials = append(credentials, compose.Resource{Name: "database-root-backup", Object: secret.BackupOnce(root, *s, m.instance)})
	}
	var stages []compose.Stage
	if len(credentials) > 0 {
		stages = append(stages, credentials)
	}
	server, err := m.server()
	if err != nil {
		return nil, err
	}
	database := compose.Resource{Name: databaseResource, Object: server.Object(), Retain: true}
	if r := m.spec.Infrastructure.MariaDB.RestoreFrom; r != nil {
		database.After = []string{m.secrets.Resource(string(r.S3.CredentialsSecretRef.Name))}
	}
	stages = append(stages, compose.Stage{database})
	if m.proxy.replicas > 0 {
		proxy, err := m.maxScale()
		if err != nil {
			return nil, err
		}
		stages = append(stages, compose.Stage{{Name: proxyResource, Object: proxy.Object()}})
	}
	return stages, nil
}

// server returns the MariaDB server or cluster.
func (m *model) server() (mariadb.Server, error) {
	db := m.spec.Infrastructure.MariaDB
	previous := m.observedDatabase
	res := m.databaseResources()
	image, err := m.databaseImage(release.MariaDB, previous.server, "spec", "image")
	if err != nil {
		return mariadb.Server{}, err
	}
	exporter, err := m.exporter(release.MariaDBExporter, previous.server)
	if err != nil {
		return mariadb.Server{}, err
	}
	s := openstack.KeepServer(mariadb.Server{
		Meta:         m.meta(mariaDBName),
		Config:       m.serverOptions.database,
		Replicas:     m.databaseReplicas(),
		RootSecret:   mariaDBName + "-root",
		StorageSize:  string(m.databaseStorage()),
		StorageClass: string(cmp.Or(db.StorageClass, m.platform.StorageClass)),
		Resources:    res,
		Placement:    db.Placement,
		Issuer:       internalCA,
		Image:        image,
		Exporter:     exporter,
		PullSecrets:  m.images.PullSecrets,
		BufferPool:   mariadb.BufferPool(m.databaseMemory()),
		Connections:  m.connections(),
		Transfer:     &mariadb.Transfer{Cache: mariadb.GaleraCache(bytes(m.databaseStorage())), Threads: mariadb.Threads(res)},
	}, previous.server)
	if m.proxy.active {
		s.MaxScale = maxScaleName
	}
	switch r := db.RestoreFrom; {
	case r == nil:
	case previous.server.Exists():
		s.Bootstrap = previous.server.Map("spec", "bootstrapFrom")
	default:
		s.Bootstrap = mariadb.Bootstrap(bucket(r.S3), r.TargetRecoveryTime)
	}
	return s, nil
}

func (m *model) databaseResources() *common.Resources {
	return merge.Overlay(m.spec.Infrastructure.MariaDB.Resources, m.size.databaseResources)
}

// databaseMemory returns the memory of a member in bytes.
func (m *model) databaseMemory() int64 { return mariadb.Memory(m.databaseResources()) }

// databaseStorage returns the size of each volume: the value of the claim, or the default of its size. A smaller default does not shrink
// existing volumes.
func (m *model) databaseStorage() controlplanev1.StorageSize {
	provided := storageSize(m.size.databaseStorage)
	if previous := m.observedDatabase.size(); bytes(previous) > bytes(provided) {
		provided = previous
	}
	return ptr.Deref(m.spec.Infrastructure.MariaDB.StorageSize, provided)
}

// connections returns the maximum number of database connections: the number of the size, or the maximum of all services while old and new
// pods run at the same time.
func (m *model) connections() int64 {
	const others, rollOut = 100, 2
	open := int64(others)
	for _, s := range m.services {
		open += rollOut * m.connectionsOf(s)
	}
	return mariadb.Connections(max(m.size.connections, open), m.databaseMemory())
}

// databaseReplicas returns the number of members, 0 for an external server.
func (m *model) databaseReplicas() int32 {
	if m.externalMariaDB() != nil {
		return 0
	}
	return ptr.Deref(m.spec.Infrastructure.MariaDB.Replicas, m.size.database)
}

// databaseHost returns the host for services: the proxy, the member that accepts writes, or the only server.
func (m *model) databaseHost() string {
	name := mariaDBName
	switch {
	case m.proxy.used:
		name = maxScaleName
	case m.databaseReplicas() > 1:
		name = mariaDBName + "-primary"
	}
	host := fmt.Sprintf("%s.%s.svc", name, m.instance)
	// Certificates contain the longer name too, because clusters have different domains. Pods that use it are not replaced.
	if longer := host + "." + m.clusterDomain(); m.observedDatabase.host == longer {
		return longer
	}
	return host
}

// exporter returns the metrics exporter of a server or proxy, by the name of its image.
func (m *model) exporter(name string, of *observe.Object) (mariadb.Exporter, error) {
	e := mariadb.Exporter{Enabled: m.databaseMetrics(), Placement: m.spec.Infrastructure.MariaDB.Placement}
	if !e.Enabled {
		return e, nil
	}
	var err error
	e.Image, err = m.databaseImage(name, of, "spec", "metrics", "exporter", "image")
	return e, err
}

func (m *model) databaseMetrics() bool {
	return m.externalMariaDB() == nil && ptr.Deref(m.spec.Infrastructure.MariaDB.Metrics.Enabled, m.monitoring.Enabled)
}

// rootPassword selects the objects that create the password of the database's root user.
type rootPassword struct {
	generator, secret bool
	// exists: the database exists, or the password of a previous one was retained.
	exists bool
	// provided references the tenant's Secret with the password of a restored database.
	provided *common.SecretKeyReference
}

// rootSecrets selects generator and Secret for a new database. A restored database has the password of the backup, which the claim must
// reference: a generated password would not open the database, and would replace the old one in the secret store. No password is generated
// for an existing database, regardless of restoreFrom. Existing objects are kept.
func rootSecrets(restore *controlplanev1.RestoreFrom, observedState observe.State) rootPassword {
	_, generator := observedState.Get(rootGeneratorResource)
	_, created := observedState.Get(rootSecretResource)
	_, runs := observedState.Get(databaseResource)
	p := rootPassword{exists: runs || created}
	if restore != nil {
		p.provided = restore.RootPasswordSecretRef.DeepCopy()
	}
	p.secret = created || !runs && (restore == nil || p.provided != nil)
	p.generator = generator || p.secret && p.provided == nil
	return p
}

// checkRoot returns an error for a restore without the root password of the backup.
func (m *model) checkRoot() error {
	if m.spec.Infrastructure.MariaDB.RestoreFrom == nil || m.root.exists || m.root.provided != nil {
		return nil
	}
	return invalid.Field("spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef", "required, because a restored database has the "+
		"root password of the backup; create a Secret with it in the claim's namespace, and set name and key of the Secret")
}

// rootSecret returns the Secret with root's password: generated, or copied from the tenant. It is written once: the password of an existing
// database does not change, even if the claim is re-created without restoreFrom.
func (m *model) rootSecret(meta object.Meta) compose.Resource {
	out := compose.Resource{Name: rootSecretResource, Object: secret.Generated(meta, meta.Name, "root", nil), Retain: true}
	if provided := m.root.provided; provided != nil {
		out.Object = secret.Given(meta, "root", m.secrets.Source(string(provided.Name)), string(provided.Key))
		out.After = m.copied(m.spec.Infrastructure.MariaDB.RestoreFrom.RootPasswordSecretRef)
	}
	return out
}

func bucket(s controlplanev1.S3) mariadb.Bucket {
	return mariadb.Bucket{
		Name: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, Prefix: s.Prefix,
		Secret: string(s.CredentialsSecretRef.Name), PrivateCA: s.PrivateCA,
	}
}

func storageSize(s string) controlplanev1.StorageSize { return controlplanev1.StorageSize(s) }

// bytes returns the size of a volume in bytes. Admission has validated its form.
func bytes(s controlplanev1.StorageSize) int64 {
	q, err := resource.ParseQuantity(string(s))
	if err != nil {
		return 0
	}
	return q.Value()
}
