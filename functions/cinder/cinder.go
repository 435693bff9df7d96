// Package cinder composes a Cinder: the components of every service, the scheduler, the managers of each backend's volumes, the backup
// service, and the volume types that users choose from.
package cinder

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Cinder composite resources.
func New() function.Runner {
	return function.Kind[cinderv1.Cinder, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: cinderv1.CephConnected, Verdict: (*model).cephConnected}},
	}
}

// Time for operations to complete while a pod stops. An interrupted operation sets its volume or backup to an error state.
const (
	terminationGracePeriod       = 60 * time.Second
	volumeTerminationGracePeriod = 3 * time.Minute
	backupTerminationGracePeriod = 10 * time.Minute
)

// definition is the part that all Cinders have in common.
var definition = service.Definition{
	App:                    cinderv1.ServiceName,
	Title:                  "Cinder",
	Outage:                 "volumes cannot be created, attached or detached; attached volumes keep working",
	CatalogType:            cinderv1.ServiceType,
	NeedsAdmin:             true,
	Description:            "Volumes of virtual machines",
	Port:                   cinderv1.Port,
	Module:                 "cinder.wsgi.api:application",
	HealthPath:             "/healthcheck",
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/cinder/latest/admin/upgrades.html, https://docs.openstack.org/cinder/latest/cli/cinder-manage.html
		Schema: service.Schema{
			Sync:   sync,
			Expand: sync,
			OnlineMigrations: []openstackv1.Step{
				service.UntilDone("online-data-migrations", "cinder-manage", "db", "online_data_migrations"),
			},
			Check:   []openstackv1.Argument{"/opt/openstack/bin/python", "-c", openstackv1.Argument(checkScript), "upgrade", "check"},
			Version: []openstackv1.Argument{"cinder-manage", "db", "version"},
			Empty:   "None",
		},
	}},
}

// checkScript is cinder-status without the checks that do not apply to our upgrades.
//
//go:embed check.py
var checkScript string

// sync only adds to the schema: the previous release keeps working with it.
var sync = []openstackv1.Step{service.Step("db-sync", "cinder-manage", "db", "sync")}

// Names of components. The component of a process has its name.
const (
	scheduler = "scheduler"
	volumes   = "volume"
	backup    = "backup"

	storageComponent = "storage"
	typesComponent   = "volume-types"
)

// graph lists the components of a Cinder and their dependencies. It is added to the catalog when
// volumes can be created.
//
// New versions are rolled out from the scheduler to the API, which calls all others. No supported release changes versions of RPC calls or
// objects, so that no process needs a second restart (cinder.volume.rpcapi, cinder.objects.base).
// https://docs.openstack.org/cinder/latest/admin/upgrades.html#upgrade-procedure
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.QueueAccount[*model]("companion-access"),
	service.User[*model]("companion-access", "credentials"),
	service.Config[*model]("companion-access", "credentials"),
	service.DatabaseSchema[*model]("database", "config"),
	{Name: storageComponent, Needs: []string{"companion-access"}, Build: storage},
	service.Daemon[*model](scheduler, pods),
	service.Daemon[*model](volumes, storageRolloutOrder, scheduler),
	service.Daemon[*model](backup, storageRolloutOrder, volumes),
	service.API[*model](pods, volumes, backup),
	service.Exposure[*model]("certificate"),
	service.Catalog[*model](scheduler, volumes, backup, "api"),
	{Name: typesComponent, Needs: []string{"api", "catalog"}, Build: volumeTypes},
	{Name: checkComponent, Needs: []string{"api", "catalog"}, Build: check},
	service.Archival(archive, "api"),
	service.Alerts[*model](),
})

// pods are the dependencies of the API and of each process, and storageRolloutOrder the dependencies of processes that store volumes or
// backups.
var (
	pods                = []string{"schema", "certificate", "identity", "queue"}
	storageRolloutOrder = append([]string{storageComponent}, pods...)
)

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec *cinderv1.CinderSpec
	// backends are the backends of volumes, and target is the target of backups.
	backends []backend
	target   target
	// conversion is the size of the directory in which a pod converts images.
	conversion resource.Quantity
	// previous are the last reported backends, and checked is the companion's ServiceCheck.
	previous []cinderv1.BackendStatus
	checked  *observe.Object
}

func derive(in function.Input[cinderv1.Cinder]) (*model, error) {
	m := &model{spec: &in.XR.Spec, previous: in.XR.Status.Backends}
	m.checked, _ = in.Observed.Get(checkComponent)
	volume.Complete(&m.spec.Storage)
	spec := service.QueuedSpec(&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, m.spec.API, m.spec.Placement)
	spec.Groups = volume.Groups(m.spec.Backends)
	errs := []error{service.CheckProcess("spec.scheduler", m.spec.Scheduler), service.CheckProcess("spec.volume", m.spec.Volume)}
	if b := m.spec.Backup; b != nil {
		errs = append(errs, service.CheckAmounts("spec.backup", b.Process))
	}
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Spec: spec, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Check: func(r release.Release) error {
			return volume.Check("spec", r, spec, &m.spec.Storage, &m.spec.Volume, m.spec.Coordination != nil)
		},
	}, errs...)
	if err != nil {
		return nil, err
	}
	if m.conversion, err = quantity.Parse("spec.conversionSize", m.spec.ConversionSize, "50Gi"); err != nil {
		return nil, err
	}
	if err := errors.Join(m.findBackends(), m.findTarget()); err != nil {
		return nil, err
	}
	x, err := m.extension(in.Observed)
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(x)
	return m, err
}

// extension returns the additions of a Cinder.
func (m *model) extension(observed observe.State) (service.Extension, error) {
	reached, err := keymanager.Reached(m.spec.KeyManager)
	if err != nil {
		return service.Extension{}, err
	}
	x := service.Extension{
		Config: service.Configuration{Options: m.options(), Rules: map[string]string{
			// Without a user's token, a hypervisor completes the interrupted deletion of a server, and deletes attachments of its volumes. Cinder
			// finds an attachment of another project, but by default only its project or an administrator may delete it. Nova ignores an error,
			// and the volume would stay attached to a server that is gone.
			"volume:attachment_delete": "rule:xena_system_admin_or_project_member or rule:admin_or_owner or role:service",
		}},
		Pods: service.Pods{Content: compose.Stage{m.programs()}},
		// The image has the file at another path than Cinder's default.
		API: service.APIPods{Env: append(m.coordinationEnv(), corev1.EnvVar{
			Name: oslo.MustEnvName("DEFAULT", "api_paste_config"), Value: data + "api-paste.ini",
		})},
		Jobs:      service.Jobs{Names: []string{service.ArchiveJob, typesComponent}},
		Network:   service.Network{APIEgress: serviceEgress},
		Keystone:  service.Keystone{Logins: m.logins()},
		Processes: m.processes(observed),
	}
	for _, b := range m.backends {
		x.Config.Files = append(x.Config.Files, b.files...)
	}
	if c := m.spec.Coordination; c != nil {
		x.Pods.Volumes = []service.Volume{m.SecretVolume(coordination, string(c.BindingSecretRef.Name), cinderv1.BindingCAKey)}
		x.Network.Egress = []workload.Flow{{Ports: storePorts(c)}}
	}
	x.Network.Egress = append(x.Network.Egress, reached...)
	return x, nil
}

// Option groups with logins of Cinder: to Nova, which is notified of extended volumes, to Glance, for images in the same Ceph cluster, and
// for the service token that accompanies a user's token.
const (
	novaGroup    = "nova"
	glanceGroup  = "glance"
	serviceGroup = "service_user"
)

// logins returns the logins of the effective release: 2025.1 uses only the user's token for Glance.
func (m *model) logins() []string {
	out := append([]string{serviceGroup, novaGroup}, keymanager.Logins(m.spec.KeyManager)...)
	if m.HasOption(glanceGroup, "auth_type") {
		out = append(out, glanceGroup)
	}
	return out
}

// serviceEgress are the services that every process calls.
var serviceEgress = []workload.Flow{{Ports: []int32{novav1.Port, glancev1.Port}}}

// processes returns the processes in addition to the API.
func (m *model) processes(observed observe.State) []service.Process {
	out := []service.Process{m.daemon(service.Process{
		Process: m.spec.Scheduler, Name: scheduler, Title: "Cinder's scheduler", Command: []string{"cinder-scheduler"},
		Outage: "volumes cannot be created", TerminationGracePeriod: terminationGracePeriod,
	})}
	for _, b := range m.backends {
		out = append(out, m.manager(observed, b))
	}
	if m.spec.Backup != nil {
		for i, zone := range volume.Zones(&m.spec.Storage) {
			out = append(out, m.backupService(observed, zone, i == 0))
		}
	}
	return out
}

// daemon completes a process that receives work from the message queue. It is a StatefulSet, because Cinder records a process by the name
// of its pod: records of removed names would stay, and volumes with them.
func (m *model) daemon(p service.Process) service.Process {
	p.Stateful, p.Logins = true, m.logins()
	p.Egress = append(p.Egress, serviceEgress...)
	p.Ready, p.Alive = workload.Connected(m.Spec.Queue.Port), workload.Attached(m.Spec.Queue.Host, m.Spec.Queue.Port)
	p.Env = append(append(workload.Self(), m.coordinationEnv()...), append([]corev1.EnvVar{
		{Name: oslo.MustEnvName("DEFAULT", "host"), Value: "$(" + workload.NameEnv + ")"},
		{Name: oslo.MustEnvName("DEFAULT", "graceful_shutdown_timeout"), Value: strconv.Itoa(int(p.TerminationGracePeriod.Seconds()))},
	}, p.Env...)...)
	return p
}

// data is the folder of Cinder's files in the image.
const data = "/opt/openstack/etc/cinder/"

// options returns the options of all processes. The catalog provides the addresses of other services; the internal interface is used.
// https://docs.openstack.org/cinder/latest/configuration/block-storage/config-options.html
func (m *model) options() oslo.Config {
	ca := m.AuthOptions()["cafile"]
	c := oslo.Config{
		"DEFAULT": {
			"state_path":                  statePath,
			"resource_query_filters_file": data + "resource_filters.json",
			"default_volume_type":         m.spec.DefaultVolumeType,
			"image_conversion_dir":        scratchPath,
			"glance_core_properties":      coreProperties,
			"glance_catalog_info":         "image:glance:internalURL",
			"glance_ca_certificates_file": ca,
			"service_down_time":           int(override.CinderServiceDownTime.Seconds()),
		},
		serviceGroup: {"send_service_user_token": true},
		// Commands that would run as root run without privileges: the helpers drop their capabilities, and would fail to keep any.
		// https://docs.openstack.org/oslo.privsep/latest/user/index.html
		"cinder_sys_admin": {"capabilities": []string{}},
		"privsep_osbrick":  {"capabilities": []string{}},
		novaGroup:          {"region_name": m.Spec.Region, "interface": "internal"},
	}
	if e := m.spec.Exposure; e != nil && e.Path != "" {
		// The Gateway strips the path, so that Cinder cannot derive the URL from requests.
		c["DEFAULT"]["public_endpoint"] = publicEndpoint(string(m.spec.Endpoints.Public))
	}
	// The API uses it for volumes that set neither a zone nor a volume type with a zone.
	if zone := volume.DefaultZone(&m.spec.Storage); zone != volume.NovaZone {
		c["DEFAULT"]["default_availability_zone"] = zone
	}
	for _, b := range m.backends {
		c[b.Name] = b.options
	}
	if b := m.spec.Backup; b != nil {
		maps.Copy(c["DEFAULT"], backupOptions(b))
	}
	return c.Merge(keymanager.Options(m.spec.KeyManager, m.Spec.Region, string(m.Spec.Identity.InternalURL), m.TrustedFile()))
}

// coreProperties are the image properties that are not custom: Cinder's default, and signature_verified, which Cinder records for each
// image that it reads. If that is the only custom property, releases up to 2026.1 cannot create an image of the volume: they drop it and
// send an empty set of properties as a property, which Glance rejects (_translate_to_glance in cinder/image/glance.py).
var coreProperties = []string{
	"checksum", "container_format", "disk_format", "image_name", "image_id", "min_disk", "min_ram", "name", "size", "signature_verified",
}

// archiveScript is cinder-manage, extended to remove records of processes.
//
//go:embed archive.py
var archiveScript string

// archive purges deleted rows from the database, and records of processes whose pods were scaled down, which the API cannot delete.
func archive(m *model) (service.Archive, error) {
	ordered, err := json.Marshal(m.managerReplicas())
	if err != nil {
		return service.Archive{}, fmt.Errorf("cannot write down the processes: %w", err)
	}
	a := m.spec.Archive
	return service.Archive{
		Archive: a,
		Command: []string{"/opt/openstack/bin/python", "-c", archiveScript, "db", "purge", fmt.Sprint(a.AfterDays)},
		Env:     []corev1.EnvVar{{Name: "ORDERED", Value: string(ordered)}},
	}, nil
}

// managerReplicas returns the desired number of pods by program and StatefulSet.
func (m *model) managerReplicas() map[string]map[string]int32 {
	// A removed backup service has no pods.
	out := map[string]map[string]int32{"cinder-backup": {m.Sub(backup): 0}}
	for _, p := range m.Processes() {
		binary := p.Command[0]
		if out[binary] == nil {
			out[binary] = map[string]int32{}
		}
		out[binary][m.Sub(p.Name)] = ptr.Deref(p.Replicas, 1)
	}
	return out
}

func status(m *model, plan compose.Plan) any {
	return cinderv1.CinderStatus{ServiceStatus: m.Status(plan), Backends: m.backendStates(plan)}
}
