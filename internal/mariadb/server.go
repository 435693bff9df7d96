package mariadb

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/secret"
)

// Keys of the Secret with a bucket's credentials.
const (
	accessKeyIDKey     = "access-key-id"
	secretAccessKeyKey = "secret-access-key"
	bucketCAKey        = "ca.crt"
)

// Server is one MariaDB server, or a Galera cluster of an odd number.
type Server struct {
	Meta object.Meta
	// Replicas is the number of members; more than one make a Galera cluster.
	Replicas int32
	// RootSecret holds root's password under the key password.
	RootSecret string
	// StorageSize and StorageClass of each volume; no class means the cluster's default.
	StorageSize, StorageClass string
	Resources                 *common.Resources
	Placement                 common.Placement
	// Issuer (of the namespace) of the server's and of the clients' certificates. Connections without TLS are refused.
	Issuer string
	// MaxScale is the name of the proxy that decides who takes writes. Empty: the operator does.
	MaxScale string
	// Metrics runs an exporter.
	Metrics     bool
	PullSecrets []common.ObjectName
	// BufferPool is the memory for pages (1G), Connections the most that there may be.
	BufferPool  string
	Connections int64
	// RestoreFrom is where a new server starts from, RestoreTime the moment (RFC 3339) that the backup is to be closest to.
	RestoreFrom *Bucket
	RestoreTime string
}

// clusterBootstrapTimeout is how long the operator keeps to the member that it has found to be the most advanced, when all have gone down
// and that one does not come up. After its default, ten minutes, it forgets what it found and may take an empty member, which the
// others then copy: every database is lost (https://github.com/mariadb-operator/mariadb-operator/issues/1701, in all releases up to
// 26.6.0). It starts the same member again every five minutes; who knows that it is lost names another (docs/operations.md).
const clusterBootstrapTimeout = "720h0m0s"

// Object makes the MariaDB object.
func (s Server) Object() *unstructured.Unstructured {
	issuer := object.Map{"name": s.Issuer, "kind": "Issuer"}
	spec := restrict(object.Map{
		"replicas":                 int64(s.Replicas),
		"rootPasswordSecretKeyRef": object.Map{"name": s.RootSecret, "key": secret.PasswordKey, "generate": false},
		"storage":                  object.With(object.Map{"size": s.StorageSize}, object.Map{"storageClassName": s.StorageClass}),
		"tls": object.Map{
			"enabled": true, "required": true,
			"serverCertIssuerRef": issuer, "clientCertIssuerRef": issuer,
		},
		"myCnf":               s.config(),
		"metrics":             exporter(s.Metrics),
		"podDisruptionBudget": object.Map{"maxUnavailable": int64(1)},
		"updateStrategy":      object.Map{"type": "ReplicasFirstPrimaryLast"},
		// The operator's defaults wait 20 s for every member in turn.
		"startupProbe":   object.Map{"initialDelaySeconds": int64(1), "periodSeconds": int64(2), "failureThreshold": int64(300)},
		"readinessProbe": object.Map{"initialDelaySeconds": int64(1), "periodSeconds": int64(5)},
	}, serverUser)
	if s.Replicas > 1 {
		spec["galera"] = object.Map{
			"enabled": true, "sst": "mariabackup", "recovery": object.Map{"enabled": true, "clusterBootstrapTimeout": clusterBootstrapTimeout},
			// Of its init container nothing can be said without its image, which is that of the operator.
			"agent": object.Map{"securityContext": container()},
		}
		spec["affinity"], spec["topologySpreadConstraints"] = s.spread()
	}
	if s.MaxScale != "" {
		spec["maxScaleRef"] = object.Map{"name": s.MaxScale, "namespace": s.Meta.Namespace}
	}
	if s.RestoreFrom != nil {
		spec["bootstrapFrom"] = object.With(object.Map{"backupContentType": "Physical", "s3": s.RestoreFrom.s3()},
			object.Map{"targetRecoveryTime": s.RestoreTime})
	}
	spec = object.With(spec, object.Map{
		"resources":        object.Resources(s.Resources),
		"nodeSelector":     object.NodeSelector(s.Placement.NodeSelector),
		"tolerations":      object.Tolerations(s.Placement.Tolerations),
		"imagePullSecrets": pullSecrets(s.PullSecrets),
	})
	return object.New(apiVersion, "MariaDB", s.Meta, spec)
}

// spread puts each member on a node of its own where there are enough nodes, and in a zone of its own if that can be had. The operator's
// own way (antiAffinityEnabled alone) leaves a cluster with fewer nodes than members without a database. It stays set because the
// operator refuses its change.
func (s Server) spread() (affinity object.Map, constraints object.List) {
	members := func() object.Map {
		return object.Map{"matchLabels": object.Map{"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": s.Meta.Name}}
	}
	const most = 100
	affinity = object.Map{"antiAffinityEnabled": true, "podAntiAffinity": object.Map{
		"preferredDuringSchedulingIgnoredDuringExecution": object.List{object.Map{
			"weight": int64(most), "podAffinityTerm": object.Map{"labelSelector": members(), "topologyKey": corev1.LabelTopologyZone},
		}},
	}}
	return affinity, object.List{object.Map{
		"maxSkew": int64(1), "topologyKey": corev1.LabelHostname, "whenUnsatisfiable": string(corev1.DoNotSchedule), "labelSelector": members(),
	}}
}

// config is the server's own configuration (https://mariadb.com/kb/en/server-system-variables/). Galera needs rows in the
// log and interleaved counters; the operator sets both.
func (s Server) config() string {
	return fmt.Sprintf(`[mariadb]
max_connections=%d
innodb_buffer_pool_size=%s
max_allowed_packet=64M
skip-name-resolve
character-set-server=utf8
collation-server=utf8_general_ci
`, s.Connections, s.BufferPool)
}

// MaxScale makes the proxy before a Galera cluster: all of a service's connections go to the one member that takes writes,
// because a schema change that is split over two half-creates tables.
func MaxScale(meta object.Meta, server string, replicas, port int32, metrics bool) *unstructured.Unstructured {
	return object.New(apiVersion, "MaxScale", meta, object.Map{
		"replicas":   int64(replicas),
		"mariaDbRef": object.Map{"name": server},
		"services": object.List{object.Map{
			"name":     "primary",
			"router":   "readconnroute",
			"params":   object.Map{"router_options": "master"},
			"listener": object.Map{"port": int64(port), "protocol": "MariaDBProtocol"},
		}},
		"tls":                 object.Map{"enabled": true},
		"metrics":             exporter(metrics),
		"podDisruptionBudget": object.Map{"maxUnavailable": int64(1)},
	})
}

// Bucket is where backups lie.
type Bucket struct {
	// Name, Endpoint (host and port), Region and Prefix of the bucket.
	Name, Endpoint, Region, Prefix string
	// Secret holds access-key-id and secret-access-key, and ca.crt where PrivateCA says so.
	Secret    string
	PrivateCA bool
}

// BucketKeys are the keys of the Secret with a bucket's credentials.
func BucketKeys(privateCA bool) []string {
	if privateCA {
		return []string{accessKeyIDKey, secretAccessKeyKey, bucketCAKey}
	}
	return []string{accessKeyIDKey, secretAccessKeyKey}
}

// PhysicalBackup makes regular backups of a server, taken from a member that takes no writes.
func PhysicalBackup(meta object.Meta, server, cron string, days int32, b Bucket) *unstructured.Unstructured {
	const hoursPerDay = 24
	return object.New(apiVersion, "PhysicalBackup", meta, restrict(object.Map{
		"mariaDbRef":   object.Map{"name": server},
		"schedule":     object.Map{"cron": cron, "immediate": true},
		"maxRetention": fmt.Sprintf("%dh", int(days)*hoursPerDay),
		"target":       "PreferReplica",
		"compression":  "bzip2",
		"storage":      object.Map{"s3": b.s3()},
	}, serverUser))
}

func (b Bucket) s3() object.Map {
	tls := object.Map{"enabled": true}
	if b.PrivateCA {
		tls["caSecretKeyRef"] = object.Map{"name": b.Secret, "key": bucketCAKey}
	}
	return object.With(object.Map{
		"bucket":                      b.Name,
		"endpoint":                    b.Endpoint,
		"accessKeyIdSecretKeyRef":     object.Map{"name": b.Secret, "key": accessKeyIDKey},
		"secretAccessKeySecretKeyRef": object.Map{"name": b.Secret, "key": secretAccessKeyKey},
		"tls":                         tls,
	}, object.Map{"region": b.Region, "prefix": b.Prefix})
}

func pullSecrets(names []common.ObjectName) object.List {
	var out object.List
	for _, n := range names {
		out = append(out, object.Map{"name": string(n)})
	}
	return out
}
