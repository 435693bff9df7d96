package mariadb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
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
	Image    string
	Exporter Exporter
	// PullSecrets are the names of Secrets. The operator does not allow to change them.
	PullSecrets []common.ObjectName
	// BufferPool is the memory for pages (1G), Connections the most that there may be.
	BufferPool  string
	Connections int64
	// Primary is the member that has to take the writes, before another can be removed. Nil: whichever does.
	Primary *int64
	// Transfer is how members of a cluster copy what they have missed. Nil: as the operator does by itself, for clusters that were made so.
	Transfer *Transfer
	// DefaultCollations leaves the collation of a table that names its character set alone to MariaDB's default, for servers that were made
	// so: a new table could not refer to an existing one otherwise.
	DefaultCollations bool
	// Config has other options of the server by name, as Options formats them.
	Config map[string]string
	// Bootstrap is what a new server starts from, if not from nothing.
	Bootstrap object.Map
}

// Transfer is how members of a Galera cluster copy what they have missed.
//
// A cluster has it from its beginning or not at all. Half way through a change of it, a member that was restarted and one that was not
// would not understand each other's state transfer, and the second is only restarted when the first has come up: the operator's
// documentation has every member's configuration changed by hand first
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/docs/tls.md#enabling-tls-in-existing-instances).
type Transfer struct {
	// Cache is how much of what was written each member keeps (1G), so that one that was away for a while gets the rest, and not all.
	Cache string
	// Threads apply what others wrote.
	Threads int64
}

// startupSeconds is how long a member may take to start. In it, one that has missed too much copies the whole database: at 20 MiB/s,
// which is what a slow network and disk do, 500 GiB take seven hours. The operator's probe asks for a database that answers
// (pkg/agent/handler/galera/probe.go), which one that copies does not, so that the kubelet would end it and it would begin again. A
// member that does not come up at all is seen by others: by the operator's recovery, and by alerts.
const (
	startupSeconds  = 600
	transferSeconds = 12 * 60 * 60
	startupPeriod   = 2
)

// clusterBootstrapTimeout is how long the operator keeps to the member that it has found to be the most advanced, when all have gone down
// and that one does not come up. After its default, ten minutes, it forgets what it found and may take an empty member, which the
// others then copy: every database is lost (https://github.com/mariadb-operator/mariadb-operator/issues/1701, in all releases up to
// 26.6.0). It starts the same member again every five minutes; who knows that it is lost names another (docs/operations.md).
const clusterBootstrapTimeout = "720h0m0s"

// Object makes the MariaDB object.
func (s Server) Object() *unstructured.Unstructured {
	issuer := object.Map{"name": s.Issuer, "kind": "Issuer"}
	tls := object.Map{"enabled": true, "required": true, "serverCertIssuerRef": issuer, "clientCertIssuerRef": issuer}
	startup := object.Map{
		"initialDelaySeconds": int64(1), "periodSeconds": int64(startupPeriod), "failureThreshold": int64(startupSeconds / startupPeriod),
	}
	spec := restrict(object.Map{
		"replicas":                 int64(s.Replicas),
		"rootPasswordSecretKeyRef": object.Map{"name": s.RootSecret, "key": secret.PasswordKey, "generate": false},
		"storage":                  object.WithOptional(object.Map{"size": s.StorageSize}, object.Map{"storageClassName": s.StorageClass}),
		"tls":                      tls,
		"myCnf":                    s.config(),
		"metrics":                  s.Exporter.object(),
		"podDisruptionBudget":      object.Map{"maxUnavailable": int64(1)},
		"priorityClassName":        workload.PriorityInfrastructure,
		"updateStrategy":           object.Map{"type": "ReplicasFirstPrimaryLast"},
		// The operator's defaults wait 20 s for every member in turn.
		"startupProbe":   startup,
		"readinessProbe": object.Map{"initialDelaySeconds": int64(1), "periodSeconds": int64(5)},
	}, serverUser)
	if s.Replicas > 1 {
		galera := object.Map{
			"enabled": true, "sst": "mariabackup", "recovery": object.Map{"enabled": true, "clusterBootstrapTimeout": clusterBootstrapTimeout},
			// Of its init container nothing can be said without its image, which is that of the operator.
			"agent": object.Map{"securityContext": container()},
		}
		if s.Primary != nil {
			galera["primary"] = object.Map{"podIndex": *s.Primary}
		}
		if t := s.Transfer; t != nil {
			tls["galeraSSTEnabled"] = true
			galera["replicaThreads"], galera["providerOptions"] = t.Threads, object.Map{"gcache.size": t.Cache}
			startup["failureThreshold"] = int64(transferSeconds / startupPeriod)
		}
		spec["galera"] = galera
		spec["affinity"], spec["topologySpreadConstraints"] = s.spread()
	}
	if s.MaxScale != "" {
		spec["maxScaleRef"] = object.Map{"name": s.MaxScale, "namespace": s.Meta.Namespace}
	}
	spec = object.WithOptional(spec, object.Map{
		"image":            s.Image,
		"bootstrapFrom":    s.Bootstrap,
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
	const most = 100
	affinity = object.Map{"antiAffinityEnabled": true, "podAntiAffinity": object.Map{
		"preferredDuringSchedulingIgnoredDuringExecution": object.List{object.Map{
			"weight":          int64(most),
			"podAffinityTerm": object.Map{"labelSelector": pods("mariadb", s.Meta.Name), "topologyKey": corev1.LabelTopologyZone},
		}},
	}}
	return affinity, apart("mariadb", s.Meta.Name)
}

// apart spreads pods of the operator over nodes as evenly as there are nodes.
func apart(app, instance string) object.List {
	return object.List{object.Map{
		"maxSkew": int64(1), "topologyKey": corev1.LabelHostname, "whenUnsatisfiable": string(corev1.DoNotSchedule),
		"labelSelector": pods(app, instance),
	}}
}

// pods selects pods by the labels that the operator gives them.
func pods(app, instance string) object.Map {
	return object.Map{"matchLabels": object.Map{"app.kubernetes.io/name": app, "app.kubernetes.io/instance": instance}}
}

// collationsOption gives tables that name a character set and no collation the collation that databases have.
const collationsOption = "loose-character-set-collations"

// HasCollations reports whether a configuration decides the collation of tables that name a character set alone.
func HasCollations(config string) bool { return strings.Contains(config, collationsOption) }

// config is the server's own configuration (https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables).
// Galera needs rows in the log and interleaved counters; the operator sets both.
//
// Two defaults of MariaDB 11 break what the services were written for. Both options have the prefix loose, so that an older image, which
// does not know them, starts too.
//
//   - innodb_snapshot_isolation is on since 11.6.2: a transaction that locks a row which another one has changed after the first one's
//     snapshot fails with error 1020. Services read rows before they change them, and oslo.db repeats a transaction for that error only
//     from 17.4.0 on, which 2025.1 does not have (https://bugs.launchpad.net/nova/+bug/2116186).
//   - character_set_collations gives a table that names its character set and no collation another one (utf8mb3_uca1400_ai_ci, since 11.5)
//     than the database's, which a table without a character set gets. Services have tables of both kinds; columns of different
//     collations cannot be compared or refer to each other (https://bugs.launchpad.net/nova/+bug/2084562).
func (s Server) config() string {
	collations := ""
	if !s.DefaultCollations {
		collations = collationsOption + "=utf8mb3=utf8mb3_general_ci,utf8mb4=utf8mb4_general_ci\n"
	}
	var more strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		fmt.Fprintf(&more, "%s=%s\n", name, s.Config[name])
	}
	return fmt.Sprintf(`[mariadb]
max_connections=%d
innodb_buffer_pool_size=%s
max_allowed_packet=64M
skip-name-resolve
character-set-server=utf8
collation-server=utf8_general_ci
loose-innodb-snapshot-isolation=OFF
%s%s`, s.Connections, s.BufferPool, collations, more.String())
}

func pullSecrets(names []common.ObjectName) object.List {
	var out object.List
	for _, n := range names {
		out = append(out, object.Map{"name": string(n)})
	}
	return out
}
