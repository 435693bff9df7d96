package infrastructure

import (
	"cmp"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
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

// ComposeDatabase composes MariaDB, with a proxy if requested, for a maximum number of connections of all services. The proxy is created
// after the members are ready: without their certificates its operator would retry with a growing backoff.
func (inf *Infrastructure) ComposeDatabase(connections int64) ([]compose.Stage, error) {
	if e := inf.ExternalMariaDB(); e != nil {
		return inf.externalDatabase(*e), nil
	}
	root := inf.Meta(mariaDBName + "-root")
	var credentials compose.Stage
	if inf.root.generator {
		credentials = append(credentials, compose.Resource{Name: rootGeneratorResource, Object: secret.Generator(root)})
	}
	if inf.root.secret {
		credentials = append(credentials, inf.rootSecret(root))
	}
	if s := inf.SecretStore; s != nil {
		// Backups of the database require the password of their time, so a new password does not replace it in the secret store.
		credentials = append(credentials, compose.Resource{Name: "database-root-backup", Object: secret.BackupOnce(root, *s, inf.Instance)})
	}
	var stages []compose.Stage
	if len(credentials) > 0 {
		stages = append(stages, credentials)
	}
	server, err := inf.server(connections)
	if err != nil {
		return nil, err
	}
	database := compose.Resource{Name: DatabaseResource, Object: server.Object(), Retain: true}
	if r := inf.Spec.Infrastructure.MariaDB.RestoreFrom; r != nil {
		database.After = []string{inf.Secrets.Resource(string(r.S3.CredentialsSecretRef.Name))}
	}
	stages = append(stages, compose.Stage{database})
	if inf.proxy.replicas > 0 {
		proxy, err := inf.MaxScale()
		if err != nil {
			return nil, err
		}
		stages = append(stages, compose.Stage{{Name: proxyResource, Object: proxy.Object()}})
	}
	return stages, nil
}

// server returns the MariaDB server or cluster.
func (inf *Infrastructure) server(connections int64) (mariadb.Server, error) {
	db := inf.Spec.Infrastructure.MariaDB
	previous := inf.observedDatabase
	res := inf.DatabaseResources()
	image, err := inf.databaseImage(release.MariaDB, previous.server, "spec", "image")
	if err != nil {
		return mariadb.Server{}, err
	}
	exporter, err := inf.exporter(release.MariaDBExporter, previous.server)
	if err != nil {
		return mariadb.Server{}, err
	}
	s := openstack.KeepServer(mariadb.Server{
		Meta:         inf.Meta(mariaDBName),
		Config:       inf.serverOptions.Database,
		Replicas:     inf.DatabaseReplicas(),
		RootSecret:   mariaDBName + "-root",
		StorageSize:  string(inf.DatabaseStorage()),
		StorageClass: string(cmp.Or(db.StorageClass, inf.Platform.StorageClass)),
		Resources:    res,
		Placement:    db.Placement,
		Issuer:       claim.InternalCA,
		Image:        image,
		Exporter:     exporter,
		PullSecrets:  inf.Images.PullSecrets,
		BufferPool:   mariadb.BufferPool(inf.databaseMemory()),
		Connections:  inf.connections(connections),
		Transfer:     &mariadb.Transfer{Cache: mariadb.GaleraCache(quantity.Bytes(string(inf.DatabaseStorage()))), Threads: mariadb.Threads(res)},
	}, previous.server)
	if inf.proxy.active {
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

// connections returns the maximum number of database connections: the number of the size, or the maximum of all services while old and new
// pods run at the same time.
func (inf *Infrastructure) connections(ofServices int64) int64 {
	const others, rollOut = 100, 2
	return mariadb.Connections(max(inf.Size.Connections, others+rollOut*ofServices), inf.databaseMemory())
}

// DatabaseResources returns the resources of a member.
func (inf *Infrastructure) DatabaseResources() *common.Resources {
	return merge.Overlay(inf.Spec.Infrastructure.MariaDB.Resources, inf.Size.DatabaseResources)
}

// databaseMemory returns the memory of a member in bytes.
func (inf *Infrastructure) databaseMemory() int64 { return mariadb.Memory(inf.DatabaseResources()) }

// DatabaseStorage returns the size of each volume: the value of the claim, or the default of its size. A smaller default does not shrink
// existing volumes.
func (inf *Infrastructure) DatabaseStorage() controlplanev1.StorageSize {
	provided := StorageSize(inf.Size.DatabaseStorage)
	if previous := inf.observedDatabase.size(); isLarger(previous, provided) {
		provided = previous
	}
	return ptr.Deref(inf.Spec.Infrastructure.MariaDB.StorageSize, provided)
}

// DatabaseReplicas returns the number of members, 0 for an external server.
func (inf *Infrastructure) DatabaseReplicas() int32 { return databaseReplicas(inf.Claim) }

func databaseReplicas(c *claim.Claim) int32 {
	if c.Spec.Infrastructure.MariaDB.External != nil {
		return 0
	}
	return ptr.Deref(c.Spec.Infrastructure.MariaDB.Replicas, c.Size.Database)
}

// databaseHost returns the host for services: the proxy, the member that accepts writes, or the only server.
func (inf *Infrastructure) databaseHost() string {
	name := mariaDBName
	switch {
	case inf.proxy.used:
		name = maxScaleName
	case inf.DatabaseReplicas() > 1:
		name = mariaDBName + "-primary"
	}
	host := fmt.Sprintf("%s.%s.svc", name, inf.Instance)
	// Certificates contain the longer name too, because clusters have different domains. Pods that use it are not replaced.
	if longer := host + "." + inf.ClusterDomain(); inf.observedDatabase.host == longer {
		return longer
	}
	return host
}

// exporter returns the metrics exporter of a server or proxy, by the name of its image.
func (inf *Infrastructure) exporter(name string, of *observe.Object) (mariadb.Exporter, error) {
	e := mariadb.Exporter{Enabled: inf.databaseMetrics(), Placement: inf.Spec.Infrastructure.MariaDB.Placement}
	if !e.Enabled {
		return e, nil
	}
	var err error
	e.Image, err = inf.databaseImage(name, of, "spec", "metrics", "exporter", "image")
	return e, err
}

func (inf *Infrastructure) databaseMetrics() bool {
	return inf.ExternalMariaDB() == nil && ptr.Deref(inf.Spec.Infrastructure.MariaDB.Metrics.Enabled, inf.Monitoring.Enabled)
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
	_, runs := observedState.Get(DatabaseResource)
	p := rootPassword{exists: runs || created}
	if restore != nil {
		p.provided = restore.RootPasswordSecretRef.DeepCopy()
	}
	p.secret = created || !runs && (restore == nil || p.provided != nil)
	p.generator = generator || p.secret && p.provided == nil
	return p
}

// checkRoot returns an error for a restore without the root password of the backup.
func (inf *Infrastructure) checkRoot() error {
	if inf.Spec.Infrastructure.MariaDB.RestoreFrom == nil || inf.root.exists || inf.root.provided != nil {
		return nil
	}
	return invalid.Field("spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef", "required, because a restored database has the "+
		"root password of the backup; create a Secret with it in the claim's namespace, and set name and key of the Secret")
}

// rootSecret returns the Secret with root's password: generated, or copied from the tenant. It is written once: the password of an existing
// database does not change, even if the claim is re-created without restoreFrom.
func (inf *Infrastructure) rootSecret(meta object.Meta) compose.Resource {
	out := compose.Resource{Name: rootSecretResource, Object: secret.Generated(meta, meta.Name, "root", nil), Retain: true}
	if provided := inf.root.provided; provided != nil {
		out.Object = secret.Given(meta, "root", inf.Secrets.Source(string(provided.Name)), string(provided.Key))
		out.After = inf.copied(inf.Spec.Infrastructure.MariaDB.RestoreFrom.RootPasswordSecretRef)
	}
	return out
}

func bucket(s controlplanev1.S3) mariadb.Bucket {
	return mariadb.Bucket{
		Name: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, Prefix: s.Prefix,
		Secret: string(s.CredentialsSecretRef.Name), PrivateCA: s.PrivateCA,
	}
}

// StorageSize converts the size of a volume.
func StorageSize(s string) controlplanev1.StorageSize { return controlplanev1.StorageSize(s) }

// isLarger reports whether a volume is larger than another one.
func isLarger(a, b controlplanev1.StorageSize) bool {
	return quantity.Bytes(string(a)) > quantity.Bytes(string(b))
}
