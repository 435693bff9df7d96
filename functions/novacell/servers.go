package novacell

import (
	"errors"
	"time"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Components of a cell's own servers, and their resources. Their data is deleted with them if data is to be deleted: operators release
// databases, virtual hosts and users whose server is gone, so that no deletion order is needed here.
const (
	databaseComponent   = "database-server"
	backupComponent     = "database-server-backup"
	queueComponent      = "queue-server"
	monitoringComponent = "server-monitoring"
)

func (m *model) databaseServer() *common.DatabaseServer {
	if m.spec.Infrastructure == nil {
		return nil
	}
	return m.spec.Infrastructure.Database
}

func (m *model) queueServer() *common.QueueServer {
	if m.spec.Infrastructure == nil {
		return nil
	}
	return m.spec.Infrastructure.Queue
}

// databaseName and queueName return the names of the cell's own servers.
func (m *model) databaseName() string { return string(m.spec.Database.MariaDBRef.Name) }
func (m *model) queueName() string    { return m.spec.Queue.Name() }

// databaseClients returns the pods that use the cell's own servers: pods of the cell, and of its Nova. Other services and other cells have
// no access.
func (m *model) databaseClients() []map[string]string {
	var out []map[string]string
	for _, instance := range []string{m.nova, m.Name} {
		labels := workload.ManagedPodLabels()
		labels["app.kubernetes.io/instance"] = instance
		out = append(out, labels)
	}
	return out
}

// databaseServer builds the cell's MariaDB and its network policies.
func databaseServer(m *model) ([]compose.Stage, error) {
	root := m.Meta(m.databaseName() + "-root")
	first := compose.Stage{
		{Name: "root-generator", Object: secret.Generator(root)},
		{Name: "root-secret", Object: secret.Generated(root, root.Name, "root", nil), Retain: true},
	}
	if store := m.Spec.SecretStore; store != nil {
		// Backups of the database require the root password of their time: the stored one is not overwritten by a new password.
		first = append(first, compose.Resource{Name: "root-backup", Object: secret.BackupOnce(root, *store, m.Namespace)})
	}
	network, err := m.network()
	if err != nil {
		return nil, err
	}
	for _, p := range network.Policies(m.Meta) {
		first = append(first, compose.Resource{Name: p.Name + "-network-policy", Object: p.Object})
	}
	jobs := m.Sub("jobs")
	first = append(first, compose.Resource{Name: "jobs-network-policy", Object: m.JobWorkload().With(jobs, "schema").NetworkPolicy(
		nil, []workload.Flow{{Pods: mariadb.Pods(m.databaseName()), Ports: []int32{m.spec.Database.Port}}},
	)})
	return []compose.Stage{first, {{Name: databaseComponent, Object: m.server(root.Name).Object(), Retain: true}}}, nil
}

// server returns the MariaDB, configured like the control plane's.
func (m *model) server(root string) mariadb.Server {
	own := m.databaseServer()
	previous, _ := m.observed.Get(databaseComponent)
	return service.KeepServer(mariadb.Server{
		Meta:         m.Meta(m.databaseName()),
		Replicas:     own.Replicas,
		Config:       own.Config,
		RootSecret:   root,
		StorageSize:  own.StorageSize,
		StorageClass: string(own.StorageClass),
		Resources:    own.Resources,
		Placement:    own.Placement,
		Issuer:       string(m.spec.IssuerRef.Name),
		Image:        own.Image,
		Exporter:     mariadb.Exporter{Enabled: own.Metrics, Image: own.ExporterImage, Placement: own.Placement},
		PullSecrets:  m.Spec.Images.PullSecrets,
		BufferPool:   mariadb.BufferPool(mariadb.Memory(own.Resources)),
		Connections:  own.Connections,
		Transfer:     &mariadb.Transfer{Cache: mariadb.GaleraCache(quantity.Bytes(own.StorageSize)), Threads: mariadb.Threads(own.Resources)},
	}, previous)
}

func (m *model) network() (mariadb.Network, error) {
	n := mariadb.Network{
		Server: m.databaseName(), Members: m.databaseServer().Replicas, Metrics: m.databaseServer().Metrics, ClientLabels: m.databaseClients(),
		Neighbours: m.spec.Infrastructure.Neighbours,
	}
	if b := m.databaseServer().Backup; b != nil {
		port, err := workload.HTTPSPort(b.Endpoint)
		if err != nil {
			return mariadb.Network{}, invalid.Field("spec.infrastructure.database.backup.endpoint", "%s", err)
		}
		n.Buckets = []int32{port}
	}
	return n, nil
}

// databaseBackup builds periodic backups of the cell's database. No component depends on it. The name contains a hash of fields that the
// operator does not allow to change.
func databaseBackup(m *model) ([]compose.Stage, error) {
	own := m.databaseServer()
	b := mariadb.Backup{
		Server: m.databaseName(), Cron: string(own.Backup.Schedule), Days: own.Backup.RetentionDays,
		Bucket: mariadb.Bucket{
			Name: own.Backup.Bucket, Endpoint: own.Backup.Endpoint, Region: own.Backup.Region, Prefix: own.Backup.Prefix,
			Secret: string(own.Backup.CredentialsSecretRef.Name), PrivateCA: own.Backup.PrivateCA,
		},
		Timeout: m.backupTimeout(), Tolerations: own.Tolerations, Resources: workload.Resources("100m", "256Mi", "2Gi"),
		StagingSize: own.Backup.StagingSize, StagingClass: string(own.Backup.StagingClass),
	}
	const digits = 8
	suffix := "-" + names.HashOf(digits, b.ImmutableFields())
	b.Meta = m.Meta(m.databaseName() + suffix)
	network, err := m.network()
	if err != nil {
		return nil, err
	}
	jobs := m.databaseName() + "-backups"
	return []compose.Stage{{
		{Name: backupComponent + suffix, Object: b.Object()},
		{Name: backupComponent + "-network-policy", Object: network.Backups(m.Meta(jobs))},
	}}, nil
}

func (m *model) backupTimeout() time.Duration {
	return mariadb.BackupTimeout(quantity.Bytes(m.databaseServer().StorageSize))
}

// queueServer builds the cell's RabbitMQ and its network policies.
func queueServer(m *model) ([]compose.Stage, error) {
	c := m.cluster()
	policy := c.NetworkPolicy(m.databaseClients(), m.Monitored(), m.spec.Infrastructure.Neighbours)
	return service.QueueServer(queueComponent, c, compose.Resource{Name: queueComponent + "-network-policy", Object: policy}), nil
}

func (m *model) cluster() rabbitmq.Cluster {
	running, _ := m.observed.Get(queueComponent)
	return rabbitmq.Cluster{
		Name: m.queueName(), Meta: m.Meta, QueueServer: *m.queueServer(), Running: running.String("spec", "image"),
		PullSecrets: m.Spec.Images.PullSecrets,
	}
}

// serverMonitoring builds alerts on the cell's own servers, and the ServiceMonitors of their metrics.
func serverMonitoring(m *model) ([]compose.Stage, error) {
	const field = "services.nova.cells[].infrastructure."
	conf := m.Spec.Monitoring
	var stage compose.Stage
	if own := m.databaseServer(); own != nil {
		meta := m.Meta(m.databaseName())
		alerts := mariadb.Alerts{
			Meta: meta, Field: field + "mariadb", Memory: field + "mariadb.memory", Members: own.Replicas, Metrics: own.Metrics,
		}
		if own.Backup != nil {
			age, err := mariadb.MaxBackupAge(own.Backup.Schedule, m.backupTimeout())
			if err != nil {
				return nil, err
			}
			alerts.BackupAge = age
		}
		stage = append(stage, compose.Resource{Name: databaseComponent + "-alerts", Object: alerts.Object(conf)})
		if own.Metrics && len(conf.Labels) > 0 {
			stage = append(stage, compose.Resource{
				Name: databaseComponent + "-monitor", Object: mariadb.Monitor(meta, conf, own.Replicas, m.spec.Database.Port),
			})
		}
	}
	if m.queueServer() != nil {
		c := m.cluster()
		stage = append(stage,
			compose.Resource{Name: queueComponent + "-monitor", Object: c.Monitor(conf)},
			compose.Resource{Name: queueComponent + "-alerts", Object: c.Alerts(conf, field+"rabbitmq")},
		)
	}
	return []compose.Stage{stage}, nil
}

// checkSizes returns an error for a size of a volume that is not a quantity.
func checkSizes(s *novacellv1.NovaCellSpec) error {
	const field = "spec.infrastructure."
	own := ptr.Deref(s.Infrastructure, novav1.CellInfrastructure{})
	database, queue := ptr.Deref(own.Database, common.DatabaseServer{}), ptr.Deref(own.Queue, common.QueueServer{})
	return errors.Join(
		quantity.Check(field+"database.storageSize", database.StorageSize), quantity.Check(field+"queue.storageSize", queue.StorageSize),
	)
}
