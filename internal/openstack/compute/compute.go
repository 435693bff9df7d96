// Package compute contains the conventions shared by Nova and its cells: the names of accounts, how a cell's database and
// virtual host are recorded in Nova, and the options of all Nova processes.
package compute

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// App is the service to which every cell belongs.
const App = novav1.ServiceName

// TerminationGracePeriod is the time for which a process may continue its work while its pod stops.
const TerminationGracePeriod = 60 * time.Second

// Workers is the number of processes of a daemon in each pod. A single process shuts down gracefully in every release. With
// several, the first process of 2026.1's conductor fails before it has notified the others (nova.service.Service.stop reads
// rpcserver_alt, which only they have), and the kernel kills the others with it, in the middle of their work. To scale, add
// pods, which also stop one after the other.
const Workers = 1

// APIDatabase and Cell0Database are Nova's own databases.
const (
	APIDatabase   = "nova_api"
	Cell0Database = "nova_cell0"
)

// Cell0 is the cell of servers that could not be scheduled.
const Cell0 = "cell0"

// CellName returns the name of a cell's database, database user and virtual host.
func CellName(cell string) string { return App + "_" + cell }

// Suffixes of the names of Nova's Secrets that its cells read.
const (
	DatabaseSecret   = "database"
	QueueSecret      = "queue"
	CredentialSecret = "credential"
	CloudsSecret     = "clouds"
	MetadataSecret   = "metadata-secret"
)

// Secret returns the name of one of these Secrets.
func Secret(nova, suffix string) string { return nova + "-" + suffix }

// Cloud returns the reference to the clouds.yaml with which Nova's user logs in with its password.
func Cloud(nova string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(Secret(nova, CloudsSecret)), CloudName: App}
}

// Services that Nova's processes look up in the catalog, by the name of their option group.
const (
	placement = "placement"
	glance    = "glance"
	neutron   = "neutron"
	cinder    = "cinder"
)

// ports of the APIs of those services.
var ports = map[string]int32{cinder: 8776, placement: 8778, glance: 9292, neutron: 9696}

// APIEndpoints returns the services that conductors and the API call.
func APIEndpoints() []string { return []string{glance, placement, neutron, cinder} }

// SchedulerEndpoints returns the services that the scheduler calls. Neutron provides the segments of networks.
func SchedulerEndpoints() []string { return []string{placement, neutron} }

// UpgradeCheckEndpoints returns the services called by the check before an upgrade, which queries the API versions of
// Placement and Cinder. https://docs.openstack.org/nova/latest/cli/nova-status.html
func UpgradeCheckEndpoints() []string { return []string{placement, cinder} }

// metadataEndpoints returns the services that the metadata API calls. Neutron provides the security groups of servers.
func metadataEndpoints() []string { return []string{neutron} }

// Logins returns the option groups with which a process logs in that calls these services. Requests to all services but
// Placement carry the token of [service_user] in addition to the user's token (nova.service_auth.get_auth_plugin). Glance
// is called only with user tokens.
func Logins(queried []string) []string {
	const serviceUser = "service_user"
	var out []string
	if slices.ContainsFunc(queried, func(s string) bool { return s != placement }) {
		out = append(out, serviceUser)
	}
	for _, s := range queried {
		if s != glance {
			out = append(out, s)
		}
	}
	return out
}

// EndpointFlow returns the egress to services that a process calls.
func EndpointFlow(queried []string) workload.Flow {
	var f workload.Flow
	for _, s := range queried {
		f.Ports = append(f.Ports, ports[s])
	}
	slices.Sort(f.Ports)
	return f
}

// ManageDatabase returns the commands that create and upgrade a cell's database. Its migrations read availability zones
// from the API database. https://docs.openstack.org/nova/latest/cli/nova-manage.html
func ManageDatabase(name string) service.Database {
	sync := []openstackv1.Step{service.Step("db-sync", "nova-manage", "db", "sync", "--local_cell")}
	return service.Database{
		Name: name, Group: "database",
		Schema: service.Schema{
			Sync: sync, Expand: sync,
			OnlineMigrations: []openstackv1.Step{
				service.UntilDone("online-data-migrations", "nova-manage", "db", "online_data_migrations"),
			},
			Version: []openstackv1.Argument{"nova-manage", "db", "version"},
			Empty:   "None",
		},
	}
}

// maxAttempts limits how many hypervisors Nova tries for a server. RHOSO sets the same number (nova-operator,
// templates/nova/nova.conf): Placement has no data on NUMA cells and network cards, so some of the hypervisors that it
// returns can reject the server.
const maxAttempts = 10

// schedulerFilters are Nova's defaults and the filters that RHOSO adds to them. Each added filter only affects servers that
// request its feature. Without it, such servers are scheduled to hypervisors that reject them, or their request is ignored.
// https://docs.openstack.org/nova/latest/admin/scheduling.html
var schedulerFilters = []string{
	"AggregateInstanceExtraSpecsFilter", "ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
	"ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter", "SameHostFilter", "DifferentHostFilter", "PciPassthroughFilter",
	"NUMATopologyFilter",
}

// SchedulerOptions returns the options of the scheduler. Hypervisors cannot reach its queue and do not report servers to
// it, so the scheduler reads them from the databases of the cells.
func SchedulerOptions() oslo.Config {
	return NoUpcalls().Merge(oslo.Config{"filter_scheduler": {"enabled_filters": schedulerFilters}})
}

// NoUpcalls returns the option by which the scheduler and nova-compute agree that hypervisors do not report servers to the scheduler
// (https://docs.openstack.org/nova/latest/admin/cells.html#operations-requiring-upcalls). Both read it, and nothing else does.
func NoUpcalls() oslo.Config {
	return oslo.Config{"filter_scheduler": {"track_instance_changes": false}}
}

// Options returns the options of all processes. Other services are looked up in the catalog, with their internal endpoints.
// https://docs.openstack.org/nova/latest/configuration/config.html
func Options(s *service.Base, consoles novav1.Consoles) oslo.Config {
	ca := s.AuthOptions()["cafile"]
	adapter := oslo.Options{"region_name": s.Spec.Region, "valid_interfaces": "internal"}
	peer := oslo.Options{"region_name": s.Spec.Region, "valid_interfaces": "internal", "cafile": ca}
	return consoleOptions(consoles).Merge(oslo.Config{
		"cache":        s.CacheOptions(),
		"service_user": {"send_service_user_token": true},
		"placement":    adapter,
		"neutron":      {"region_name": s.Spec.Region, "valid_interfaces": "internal"},
		"cinder":       {"catalog_info": "block-storage:cinder:internalURL", "os_region_name": s.Spec.Region},
		"glance":       peer,
		"keystone":     peer,
		// Scheduler, super-conductors and cell conductors all count attempts, each according to its own configuration file.
		"scheduler": {"max_attempts": maxAttempts},
		// RPC calls to hypervisors use the version of the oldest nova-compute.
		"upgrade_levels": {"compute": "auto"},
	})
}

// MetadataOptions returns the options of the metadata API, which serves one cell (ofCell) or all cells. Other processes
// ignore them.
func MetadataOptions(ofCell bool) oslo.Config {
	return oslo.Config{"api": {"local_metadata_per_cell": ofCell}, "neutron": {"service_metadata_proxy": true}}
}

// Daemon completes a process that listens to the message queue and calls these services. It registers with its pod name,
// which stays the same after a rollout: the record of a name that is no longer used would count as an old version and block
// upgrades.
func Daemon(s *service.Base, p service.Process, queried []string) service.Process {
	return daemon(s, p, queried, daemonReadTimeout)
}

// Scheduler completes a scheduler in the same way. It waits less long for the database of a cell.
func Scheduler(s *service.Base, p service.Process, queried []string) service.Process {
	return daemon(s, p, queried, schedulerReadTimeout)
}

func daemon(s *service.Base, p service.Process, queried []string, databaseRead time.Duration) service.Process {
	p.Stateful, p.TerminationGracePeriod = true, TerminationGracePeriod
	p.Ready, p.Alive = workload.Connected(s.Spec.Queue.Port), workload.Attached(s.Spec.Queue.Host, s.Spec.Queue.Port)
	p.Logins, p.Egress = Logins(queried), append(p.Egress, EndpointFlow(queried))
	p.Env = append(workload.Self(),
		corev1.EnvVar{Name: hostEnv, Value: "$(" + workload.NameEnv + ")"},
		corev1.EnvVar{Name: gracefulEnv, Value: strconv.Itoa(int(TerminationGracePeriod.Seconds()))},
		databaseEnv(databaseRead),
	)
	if s.HasOption("DEFAULT", managerTimeout) {
		p.Env = append(p.Env, corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", managerTimeout), Value: strconv.Itoa(managerSeconds(s.Effective))})
	}
	return p
}

// hostEnv sets the host name with which a process registers. gracefulEnv limits the time in which it completes its work
// when it stops. The default is 60 s up to 2025.2 and 180 s since, which is longer than the pod's termination grace period.
var (
	hostEnv     = oslo.MustEnvName("DEFAULT", "host")
	gracefulEnv = oslo.MustEnvName("DEFAULT", "graceful_shutdown_timeout")
)

// managerTimeout is the option that limits an additional wait of a daemon since 2026.1
// (nova.conductor.manager.ConductorManager.graceful_shutdown).
const managerTimeout = "manager_shutdown_timeout"

// managerSeconds returns the value of managerTimeout. 2026.1 always sleeps for all of it (default 160 s), without need: it
// has already waited for running calls. Later releases wait here until no call is running, and reserve 20 s of it to close
// the thread pools that calls use: with less, running calls fail. The value must be smaller than the total grace period.
func managerSeconds(r release.Release) int {
	const first, rest = "2026.1", 10
	if r == first {
		return 0
	}
	return int(TerminationGracePeriod.Seconds()) - rest
}

// WSGIEnv returns the environment variables of a WSGI application. All of its pods register with the same host name,
// because pod names are not stable. The first file contains Nova's pipelines and is part of the image.
func WSGIEnv(s *service.Base, host string) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OS_NOVA_CONFIG_FILES", Value: "/opt/openstack/etc/nova/api-paste.ini;" + s.Path("nova.conf")},
		{Name: hostEnv, Value: host},
	}
}

// Metadata returns the process of the metadata API. A proxy on the hypervisor signs the requests of servers with the same
// secret.
func Metadata(nova string, p common.Process, hypervisors []common.CIDR) service.Process {
	queried := metadataEndpoints()
	return service.Process{
		Process: p, Name: "metadata", Title: "Nova's metadata API",
		Outage: "virtual machines that start get neither keys nor user data",
		Port:   novav1.MetadataPort, IngressFrom: service.Strings(hypervisors),
		Logins: Logins(queried), Egress: []workload.Flow{EndpointFlow(queried)},
		TerminationGracePeriod: TerminationGracePeriod, Ready: workload.HTTPS(service.ProcessPort, "/"),
		Env: []corev1.EnvVar{
			workload.SecretEnv(oslo.MustEnvName("neutron", "metadata_proxy_shared_secret"), Secret(nova, MetadataSecret), "password"),
		},
	}
}

// MetadataModule is the WSGI module of the metadata API.
const MetadataModule = "nova.wsgi.metadata:application"

// Address contains the URLs that Nova records for a cell. They contain placeholders for the account: each process inserts
// its own, so that a new password does not change the record.
type Address struct {
	// Cell is the name of the cell, Database its database.
	Cell     string
	Database common.Database
	// Queue is nil for cell0.
	Queue *common.Queue
	// DatabaseCA and QueueCA are the paths of the CA files with which readers verify both servers.
	DatabaseCA, QueueCA string
}

const accountTemplate = "{username}:{password}@"

// DatabaseConnection returns the URL template of the cell's database.
func (a Address) DatabaseConnection() string {
	return fmt.Sprintf("mysql+pymysql://%s%s/%s?charset=utf8&ssl_ca=%s",
		accountTemplate, address(a.Database.Host, a.Database.Port), a.Database.NameOf(CellName(a.Cell)), a.DatabaseCA)
}

// TransportURL returns the URL template of the cell's virtual host.
func (a Address) TransportURL() string {
	if a.Queue == nil {
		return ""
	}
	return fmt.Sprintf("rabbit://%s%s/%s?ssl=true&ssl_ca_file=%s",
		accountTemplate, address(a.Queue.Host, a.Queue.Port), a.Queue.VirtualHost(CellName(a.Cell)), a.QueueCA)
}

func address(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// CellCA returns the volumes with the CAs of the cell's servers, and the Address with their paths. Servers that the cell
// shares with its Nova are verified with the volumes that all pods have.
func CellCA(s *service.Base, cell string, nova, own common.Database, novaQueue, ownQueue common.Queue) (vs []service.Volume, a Address) {
	a = Address{
		Cell: cell, Database: own, Queue: &ownQueue,
		DatabaseCA: s.Path("database-ca", string(nova.CASecretRef.Key)), QueueCA: s.Path("queue-ca", string(novaQueue.CASecretRef.Key)),
	}
	if own.CASecretRef != nova.CASecretRef {
		v := s.SecretVolume(cell+"-database-ca", string(own.CASecretRef.Name), string(own.CASecretRef.Key))
		vs, a.DatabaseCA = append(vs, v), v.Folder+"/"+string(own.CASecretRef.Key)
	}
	if ownQueue.CASecretRef != novaQueue.CASecretRef {
		v := s.SecretVolume(cell+"-queue-ca", string(ownQueue.CASecretRef.Name), string(ownQueue.CASecretRef.Key))
		vs, a.QueueCA = append(vs, v), v.Folder+"/"+string(ownQueue.CASecretRef.Key)
	}
	return vs, a
}
