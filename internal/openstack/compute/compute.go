// Package compute is what Nova and its cells have to agree on: whose accounts are which, how a cell's database and its part of a message queue
// are recorded, and the options that all of Nova's processes have.
package compute

import (
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// App is what every cell is a part of.
const App = novav1.ServiceName

// Mercy is how long a daemon may go on with what it does while a pod stops: its own graceful shutdown takes so long.
const Mercy = 60 * time.Second

// APIDatabase and Cell0Database are Nova's own databases.
const (
	APIDatabase   = "nova_api"
	Cell0Database = "nova_cell0"
)

// Cell0 is where Nova keeps what was never placed.
const Cell0 = "cell0"

// CellName is what the database of a cell is called, its virtual host, and the user of both.
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

// Logins are the groups by which Nova's processes log in. In [glance] and [keystone] they pass on the tokens of users.
func Logins() []string { return []string{"service_user", "placement", "neutron", "cinder"} }

// ManageDatabase makes and upgrades a cell's database. Its migrations look up availability zones in the API's.
// https://docs.openstack.org/nova/latest/cli/nova-manage.html
func ManageDatabase(name string) service.Database {
	sync := []openstackv1.Step{service.Step("db-sync", "nova-manage", "db", "sync", "--local_cell")}
	return service.Database{
		Name: name, Group: "database",
		Schema: service.Schema{
			Sync: sync, Expand: sync,
			OnlineMigrations: []openstackv1.Step{
				service.Repeated("online-data-migrations", "nova-manage", "db", "online_data_migrations"),
			},
			Version: []openstackv1.Argument{"nova-manage", "db", "version"},
			Empty:   "None",
		},
	}
}

// Options are those of all processes. The catalog says where other services are; the cluster's own addresses are taken.
// https://docs.openstack.org/nova/latest/configuration/config.html
func Options(s *service.Service, consoles novav1.Consoles) oslo.Config {
	ca := s.AuthOptions()["cafile"]
	adapter := oslo.Options{"region_name": s.Spec.Region, "valid_interfaces": "internal"}
	peer := oslo.Options{"region_name": s.Spec.Region, "valid_interfaces": "internal", "cafile": ca}
	return oslo.Config{
		"cache":        s.CacheOptions(),
		"service_user": {"send_service_user_token": true},
		"placement":    adapter,
		"neutron":      {"region_name": s.Spec.Region, "valid_interfaces": "internal", "service_metadata_proxy": true},
		"cinder":       {"catalog_info": "block-storage:cinder:internalURL", "os_region_name": s.Spec.Region},
		"glance":       peer,
		"keystone":     peer,
		// What processes say to hypervisors follows from the oldest of them.
		"upgrade_levels": {"compute": "auto"},
		"vnc":            {"enabled": consoles.Graphical == novav1.VNC},
		"spice":          {"enabled": consoles.Graphical == novav1.SPICE},
		"serial_console": {"enabled": consoles.Serial},
	}
}

// Daemon completes a process that listens to the message queue. It is known by its pod's name, also after a roll-out: a name that nobody
// has any more counts as an old version, and holds upgrades up.
func Daemon(s *service.Service, p service.Process) service.Process {
	p.Stateful, p.LogsIn, p.Mercy = true, true, Mercy
	p.Ready = workload.Connected(s.Spec.Queue.Port)
	p.Env = append(workload.Self(), corev1.EnvVar{Name: hostEnv, Value: "$(" + workload.NameEnv + ")"})
	return p
}

// hostEnv is what a process is recorded as.
var hostEnv = oslo.MustEnvName("DEFAULT", "host")

// WSGIEnv is what an application of WSGI needs besides. All pods of one are recorded as one, since their names do not stay. The first file
// is that of Nova's pipelines, which comes with the image.
func WSGIEnv(s *service.Service, host string) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OS_NOVA_CONFIG_FILES", Value: "/opt/openstack/etc/nova/api-paste.ini;" + s.Path("nova.conf")},
		{Name: hostEnv, Value: host},
	}
}

// Metadata is the metadata API. Requests of virtual machines come signed, by a proxy beside them that has the same secret.
func Metadata(nova string, p common.Process) service.Process {
	return service.Process{
		Process: p, Name: "metadata", Title: "Nova's metadata API",
		Outage: "virtual machines that start get neither keys nor user data",
		Port:   novav1.MetadataPort, LogsIn: true, Mercy: Mercy, Ready: workload.HTTPS(service.ProcessPort, "/"),
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
		anybody, address(a.Database.Host, a.Database.Port), CellName(a.Cell), a.DatabaseCA)
}

// TransportURL is the template of the cell's virtual host.
func (a Address) TransportURL() string {
	if a.Queue == nil {
		return ""
	}
	return fmt.Sprintf("rabbit://%s%s/%s?ssl=true&ssl_ca_file=%s", anybody, address(a.Queue.Host, a.Queue.Port), CellName(a.Cell), a.QueueCA)
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
