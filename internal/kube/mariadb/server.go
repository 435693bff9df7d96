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

// Server is one MariaDB server, or a Galera cluster with an odd number of members.
type Server struct {
	Meta object.Meta
	// Replicas is the number of members; more than one make a Galera cluster.
	Replicas int32
	// RootSecret has the password of root under the key password.
	RootSecret string
	// StorageSize and StorageClass of each volume; no class means the cluster's default.
	StorageSize, StorageClass string
	Resources                 *common.Resources
	Placement                 common.Placement
	// Issuer (in the namespace) of the certificates of server and clients. Connections without TLS are rejected.
	Issuer string
	// MaxScale is the name of the proxy that selects the primary. Empty: the operator does.
	MaxScale string
	Image    string
	Exporter Exporter
	// PullSecrets lists names of Secrets. The field is immutable in the operator.
	PullSecrets []common.ObjectName
	// BufferPool is the memory for pages (1G), Connections the maximum number of connections.
	BufferPool  string
	Connections int64
	// Primary is the member that must become the primary before another member can be removed. Nil: any.
	Primary *int64
	// Transfer configures state transfer in a cluster. Nil: the defaults of the operator, for clusters that were created with them.
	Transfer *Transfer
	// DefaultCollations keeps MariaDB's default collation for tables that set only a character set, on servers that were created with
	// it: otherwise a new table could not refer to an existing one.
	DefaultCollations bool
	// Config has other options of the server by name, as Options formats them.
	Config map[string]common.ServerOption
	// Bootstrap is the source of a new server's data. Nil: it starts empty.
	Bootstrap object.Map
}

// Transfer configures how members of a Galera cluster synchronize.
//
// It cannot be changed for an existing cluster. During a rolling change, a restarted member and an old one have incompatible state
// transfers, and the old one is restarted only after the new one has synchronized: the operator's documentation
// requires a manual change of every member's configuration first
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/docs/tls.md#enabling-tls-in-existing-instances).
type Transfer struct {
	// Cache is the amount of recent writes that each member keeps (1G), so that a member returning after an outage needs no full copy.
	Cache string
	// Threads is the number of threads that apply writes of other members.
	Threads int64
}

// transferSeconds is the startup timeout of a member with Transfer. Within it, a member that is too far behind copies the whole database:
// at 20 MiB/s, the rate of a slow network and disk, 500 GiB take seven hours. The operator's probe requires a responding database
// (pkg/agent/handler/galera/probe.go). A member that copies does not respond, so the kubelet would restart it and the copy would start
// again. A member that never starts is detected by the operator's recovery and by alerts. startupSeconds applies without Transfer.
const (
	startupSeconds  = 600
	transferSeconds = 12 * 60 * 60
	startupPeriod   = 2
)

// clusterBootstrapTimeout is the time that the operator waits for the most advanced member, after all members have failed and this one does
// not start. After its default, ten minutes, it discards that result and may select an empty member, which the others then copy: every
// database is lost (https://github.com/mariadb-operator/mariadb-operator/issues/1701, in all releases up to 26.6.0). It restarts the
// same member every five minutes; if the member is lost, an administrator has to select another (docs/how-to/database.md).
const clusterBootstrapTimeout = "720h0m0s"

// Object builds the MariaDB object.
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
		// With the operator's defaults, each member would wait 20 s in turn.
		"startupProbe":   startup,
		"readinessProbe": object.Map{"initialDelaySeconds": int64(1), "periodSeconds": int64(5)},
	}, serverUser)
	if s.Replicas > 1 {
		galera := object.Map{
			"enabled": true, "sst": "mariabackup", "recovery": object.Map{"enabled": true, "clusterBootstrapTimeout": clusterBootstrapTimeout},
			// Its init container gets no security context: that would require its image, which is the operator's.
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

// spread requires each member on a separate node if there are enough nodes, and prefers separate zones. The operator's
// default (antiAffinityEnabled alone) does not start a cluster with fewer nodes than members. antiAffinityEnabled stays set because the
// operator does not allow to change it.
func (s Server) spread() (affinity object.Map, constraints object.List) {
	const most = 100
	affinity = object.Map{"antiAffinityEnabled": true, "podAntiAffinity": object.Map{
		"preferredDuringSchedulingIgnoredDuringExecution": object.List{object.Map{
			"weight":          int64(most),
			"podAffinityTerm": object.Map{"labelSelector": pods("mariadb", s.Meta.Name), "topologyKey": corev1.LabelTopologyZone},
		}},
	}}
	return affinity, spreadOverNodes("mariadb", s.Meta.Name)
}

// spreadOverNodes returns constraints that spread pods of the operator evenly over nodes.
func spreadOverNodes(app, instance string) object.List {
	return object.List{object.Map{
		"maxSkew": int64(1), "topologyKey": corev1.LabelHostname, "whenUnsatisfiable": string(corev1.DoNotSchedule),
		"labelSelector": pods(app, instance),
	}}
}

// pods returns a selector of pods by the labels that the operator sets.
func pods(app, instance string) object.Map {
	return object.Map{"matchLabels": object.Map{"app.kubernetes.io/name": app, "app.kubernetes.io/instance": instance}}
}

// collationsOption sets the collation of databases for tables with a character set and no collation.
const collationsOption = "loose-character-set-collations"

// HasCollations reports whether a configuration sets the collation of tables that set only a character set.
func HasCollations(config string) bool { return strings.Contains(config, collationsOption) }

// config returns the server's configuration
// (https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables).
// Galera needs rows in the log and interleaved counters; the operator sets both.
//
// Two defaults of MariaDB 11 are incompatible with the services. Both options have the prefix loose, so that older images, which
// do not support them, also start.
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
