// Package compute is what Nova and its cells have to agree on: whose accounts are which, how a cell's database and its part of a message
// queue are recorded, and the options that all of Nova's processes have.
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

// App is what every cell is a part of.
const App = novav1.ServiceName

// TerminationGracePeriod is how long a process may go on with what it does while a pod stops.
const TerminationGracePeriod = 60 * time.Second

// Workers is how many processes a daemon has in each pod: one, which ends when it is told to, in every release. With several, the first
// one of 2026.1's conductor ends by an error before it has told the others (nova.service.Service.stop reads rpcserver_alt, which only they
// have), and the kernel ends them with it, whatever they were doing. More work takes more pods, which also go one after the other.
const Workers = 1

// APIDatabase and Cell0Database are Nova's own databases.
const (
	APIDatabase   = "nova_api"
	Cell0Database = "nova_cell0"
)

// Cell0 is where Nova keeps what was never placed.
const Cell0 = "cell0"

// CellName is what the database of a cell is called, its user, and its virtual host.
func CellName(cell string) string { return App + "_" + cell }

// Names of Secrets of a Nova that its cells read.
const (
	DatabaseSecret   = "database"
	QueueSecret      = "queue"
	CredentialSecret = "credential"
	CloudsSecret     = "clouds"
	MetadataSecret   = "metadata-secret"
)

// Secret is the name of one of them.
func Secret(nova, which string) string { return nova + "-" + which }

// Cloud is what Nova's user logs in by, with the password.
func Cloud(nova string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(Secret(nova, CloudsSecret)), CloudName: App}
}

// Services that Nova's processes find in the catalog, each by the group of options that says how.
const (
	placement = "placement"
	glance    = "glance"
	neutron   = "neutron"
	cinder    = "cinder"
)

// ports of those services.
var ports = map[string]int32{cinder: 8776, placement: 8778, glance: 9292, neutron: 9696}

// APIEndpoints are the services that conductors and the API ask.
func APIEndpoints() []string { return []string{glance, placement, neutron, cinder} }

// SchedulerEndpoints are the scheduler's: of Neutron it asks where a network with segments reaches.
func SchedulerEndpoints() []string { return []string{placement, neutron} }

// UpgradeCheckEndpoints are those of the check before an upgrade, which asks Placement and Cinder which versions they speak.
// https://docs.openstack.org/nova/latest/cli/nova-status.html
func UpgradeCheckEndpoints() []string { return []string{placement, cinder} }

// metadataEndpoints: of Neutron it asks for the security groups of virtual machines.
func metadataEndpoints() []string { return []string{neutron} }

// Logins are the groups of options by which a process logs in that asks these services. All but Placement are shown the token of
// [service_user] beside that of the request (nova.service_auth.get_auth_plugin); Glance is asked by tokens of users alone.
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

// EndpointFlow are the ports of services that a process asks.
func EndpointFlow(queried []string) workload.Flow {
	var f workload.Flow
	for _, s := range queried {
		f.Ports = append(f.Ports, ports[s])
	}
	slices.Sort(f.Ports)
	return f
}

// ManageDatabase makes and upgrades a cell's database. Its migrations look up availability zones in the API's.
// https://docs.openstack.org/nova/latest/cli/nova-manage.html
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

// maxAttempts limits how many hypervisors Nova tries for a server. RHOSO sets the same number (nova-operator, templates/nova/nova.conf):
// Placement has no data on NUMA cells and network cards, so some of the hypervisors that it returns can refuse the server.
const maxAttempts = 10

// schedulerFilters are Nova's own and those that RHOSO adds to them. Each of the latter looks at servers that ask for what it is about, and
// lets all others pass: without it, such servers go to hypervisors that refuse them, or their request is ignored.
// https://docs.openstack.org/nova/latest/admin/scheduling.html
var schedulerFilters = []string{
	"AggregateInstanceExtraSpecsFilter", "ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
	"ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter", "SameHostFilter", "DifferentHostFilter", "PciPassthroughFilter",
	"NUMATopologyFilter",
}

// SchedulerOptions returns the options of the scheduler. Hypervisors cannot reach its queue and do not report servers to it, so the
// scheduler
// reads them from the databases of the cells.
func SchedulerOptions() oslo.Config {
	return NoUpcalls().Merge(oslo.Config{"filter_scheduler": {"enabled_filters": schedulerFilters}})
}

// NoUpcalls returns the option by which the scheduler and nova-compute agree that hypervisors do not report servers to the scheduler
// (https://docs.openstack.org/nova/latest/admin/cells.html#operations-requiring-upcalls). Both read it, and nothing else does.
func NoUpcalls() oslo.Config {
	return oslo.Config{"filter_scheduler": {"track_instance_changes": false}}
}

// Options are those of all processes. The catalog says where other services are; the cluster's own addresses are taken.
// https://docs.openstack.org/nova/latest/configuration/config.html
func Options(s *service.Service, consoles novav1.Consoles) oslo.Config {
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
		// The scheduler and the conductors above and in the cells count attempts, each by its own file.
		"scheduler": {"max_attempts": maxAttempts},
		// What processes say to hypervisors follows from the oldest of them.
		"upgrade_levels": {"compute": "auto"},
	})
}

// MetadataOptions returns the options of the metadata API, which is the cell's own or that of all cells. Other processes ignore them.
func MetadataOptions(ofCell bool) oslo.Config {
	return oslo.Config{"api": {"local_metadata_per_cell": ofCell}, "neutron": {"service_metadata_proxy": true}}
}

// Daemon completes a process that listens to the message queue. It is known by its pod's name, also after a roll-out: a name that nobody
// has any more counts as an old version, and holds upgrades up. It asks these services.
func Daemon(s *service.Service, p service.Process, queried []string) service.Process {
	p.Stateful, p.TerminationGracePeriod = true, TerminationGracePeriod
	p.Ready, p.Alive = workload.Connected(s.Spec.Queue.Port), workload.Attached(s.Spec.Queue.Host, s.Spec.Queue.Port)
	p.Logins, p.Egress = Logins(queried), append(p.Egress, EndpointFlow(queried))
	p.Env = append(workload.Self(),
		corev1.EnvVar{Name: hostEnv, Value: "$(" + workload.NameEnv + ")"},
		corev1.EnvVar{Name: gracefulEnv, Value: strconv.Itoa(int(TerminationGracePeriod.Seconds()))},
	)
	if s.HasOption("DEFAULT", managerTimeout) {
		p.Env = append(p.Env, corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", managerTimeout), Value: strconv.Itoa(managerSeconds(s.Effective))})
	}
	return p
}

// hostEnv is what a process is recorded as, gracefulEnv how long what it does may take when it is told to end: 60 s up to 2025.2, and 180 s
// since, which is longer than the pod's grace.
var (
	hostEnv     = oslo.MustEnvName("DEFAULT", "host")
	gracefulEnv = oslo.MustEnvName("DEFAULT", "graceful_shutdown_timeout")
)

// managerTimeout is how long a daemon waits besides, since 2026.1 (nova.conductor.manager.ConductorManager.graceful_shutdown).
const managerTimeout = "manager_shutdown_timeout"

// managerSeconds is that time. 2026.1 sleeps for all of it (160 s), whatever there is to do, and does not have to: calls that have begun
// have been waited for. Later releases wait for them here, until there are none, and keep 20 s of it to close the pools of threads that
// calls need: with less, those that have begun fail. It is shorter than what the process has in all.
func managerSeconds(r release.Release) int {
	const first, rest = "2026.1", 10
	if r == first {
		return 0
	}
	return int(TerminationGracePeriod.Seconds()) - rest
}

// WSGIEnv is what an application of WSGI needs besides. All pods of one are recorded as one, since their names do not stay. The first file
// is that of Nova's pipelines, which comes with the image.
func WSGIEnv(s *service.Service, host string) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OS_NOVA_CONFIG_FILES", Value: "/opt/openstack/etc/nova/api-paste.ini;" + s.Path("nova.conf")},
		{Name: hostEnv, Value: host},
	}
}

// Metadata is the metadata API. Requests of virtual machines come signed, by a proxy on their hypervisor that has the same secret.
func Metadata(nova string, p common.Process, hypervisors []common.CIDR) service.Process {
	queried := metadataEndpoints()
	return service.Process{
		Process: p, Name: "metadata", Title: "Nova's metadata API",
		Outage: "virtual machines that start get neither keys nor user data",
		Port:   novav1.MetadataPort, IngressFrom: service.Strings(hypervisors), Logins: Logins(queried), Egress: []workload.Flow{EndpointFlow(queried)},
		TerminationGracePeriod: TerminationGracePeriod, Ready: workload.HTTPS(service.ProcessPort, "/"),
		Env: []corev1.EnvVar{
			workload.SecretEnv(oslo.MustEnvName("neutron", "metadata_proxy_shared_secret"), Secret(nova, MetadataSecret), "password"),
		},
	}
}

// MetadataModule is the metadata API's application.
const MetadataModule = "nova.wsgi.metadata:application"

// Address is what Nova records of a cell. Whoever reads it uses its own account, so that a new password changes no record.
type Address struct {
	// Cell is the cell's name, and Database where its database is.
	Cell     string
	Database common.Database
	// Queue is nil for cell0.
	Queue *common.Queue
	// DatabaseCA and QueueCA are the files of the authorities by which the readers verify both.
	DatabaseCA, QueueCA string
}

const anybody = "{username}:{password}@"

// DatabaseConnection is the template of the cell's database.
func (a Address) DatabaseConnection() string {
	return fmt.Sprintf("mysql+pymysql://%s%s/%s?charset=utf8&ssl_ca=%s",
		anybody, address(a.Database.Host, a.Database.Port), a.Database.NameOf(CellName(a.Cell)), a.DatabaseCA)
}

// TransportURL is the template of the cell's virtual host.
func (a Address) TransportURL() string {
	if a.Queue == nil {
		return ""
	}
	return fmt.Sprintf("rabbit://%s%s/%s?ssl=true&ssl_ca_file=%s",
		anybody, address(a.Queue.Host, a.Queue.Port), a.Queue.VirtualHost(CellName(a.Cell)), a.QueueCA)
}

func address(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// CellCA are the volumes with the authorities of a cell's own servers, where readers find them, and the files. What a cell shares with its
// Nova is verified as the Nova's own, by the volumes that all pods have.
func CellCA(s *service.Service, cell string, nova, own common.Database, novaQueue, ownQueue common.Queue) (vs []service.Volume, a Address) {
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
