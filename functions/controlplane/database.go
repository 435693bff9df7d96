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

// database is MariaDB, with a proxy where one is wanted. The proxy is created when the members are ready: without their certificates its
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
		// Backups of the database are opened by the password of their time: a new one does not take its place.
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

// server is the MariaDB server or cluster.
func (m *model) server() (mariadb.Server, error) {
	db := m.spec.Infrastructure.MariaDB
	previous := m.databaseWas
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

// databaseMemory is what a member has, in bytes.
func (m *model) databaseMemory() int64 { return mariadb.Memory(m.databaseResources()) }

// databaseStorage is the size of each volume: what the claim says, or what its size gives, where a smaller size leaves the volumes that
// exist.
func (m *model) databaseStorage() controlplanev1.StorageSize {
	provided := storageSize(m.size.databaseStorage)
	if previous := m.databaseWas.size(); bytes(previous) > bytes(provided) {
		provided = previous
	}
	return ptr.Deref(m.spec.Infrastructure.MariaDB.StorageSize, provided)
}

// connections is how many the database takes: as many as the size says, or as services open at most, while old and new pods are there
// beside each other.
func (m *model) connections() int64 {
	const others, rollOut = 100, 2
	open := int64(others)
	for _, s := range m.services {
		open += rollOut * m.connectionsOf(s)
	}
	return mariadb.Connections(max(m.size.connections, open), m.databaseMemory())
}

// databaseReplicas are the members. A server elsewhere has none of ours.
func (m *model) databaseReplicas() int32 {
	if m.externalMariaDB() != nil {
		return 0
	}
	return ptr.Deref(m.spec.Infrastructure.MariaDB.Replicas, m.size.database)
}

// databaseHost is where services connect to: the proxy, or the member that takes all writes, or the only server.
func (m *model) databaseHost() string {
	name := mariaDBName
	switch {
	case m.proxy.used:
		name = maxScaleName
	case m.databaseReplicas() > 1:
		name = mariaDBName + "-primary"
	}
	host := fmt.Sprintf("%s.%s.svc", name, m.instance)
	// Clusters have other domains, and certificates have this name too. Pods that use the longer one are not replaced for it.
	if longer := host + "." + m.clusterDomain(); m.databaseWas.host == longer {
		return longer
	}
	return host
}

// exporter of the metrics of what there is, by the name of its image.
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

// rootPassword says which of the objects that make the password of the database's root are wanted.
type rootPassword struct {
	generator, secret bool
	// exists: the database is there, or the password of one that was there is kept.
	exists bool
	// provided is where the tenant keeps the password of a restored database.
	provided *common.SecretKeyReference
}

// rootSecrets is both for a new database. One that starts from a backup has the password of the backup, which the claim has to name: a new one
// would not open the database, and would take the old one's place in the secret store. None is ever made for a database that runs, either,
// whatever became of restoreFrom. What there is stays.
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

// checkRoot refuses to restore a database that nobody could open.
func (m *model) checkRoot() error {
	if m.spec.Infrastructure.MariaDB.RestoreFrom == nil || m.root.exists || m.root.provided != nil {
		return nil
	}
	return invalid.Field("spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef", "a database that starts from a backup has the root "+
		"password of that backup; put it into a Secret of the claim's namespace, and name the Secret and its key here")
}

// rootSecret is the Secret with root's password: generated, or that of the backup. It is filled once: the password of a database that is
// there stays what it is, also where the claim is made again and says nothing of a backup.
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

// bytes is the size of a volume, whose form admission has checked.
func bytes(s controlplanev1.StorageSize) int64 {
	q, err := resource.ParseQuantity(string(s))
	if err != nil {
		return 0
	}
	return q.Value()
}
