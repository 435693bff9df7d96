// Package cinder composes one Cinder: what every service has, the scheduler, the managers of each backend's volumes, the backup service,
// and the volume types that users choose from.
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
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// New returns the function of Cinder composite resources.
func New() function.Runner {
	return function.Kind[cinderv1.Cinder, *model]{
		Graph: graph, Derive: derive, Target: service.Target[*model], Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: cinderv1.CephConnected, Verdict: (*model).cephConnected}},
	}
}

// How long a process may go on with what it does while a pod stops. What is cut off is an error of the volume or the backup.
const (
	terminationGracePeriod       = 60 * time.Second
	volumeTerminationGracePeriod = 3 * time.Minute
	backupTerminationGracePeriod = 10 * time.Minute
)

// definition is what is the same for every Cinder.
var definition = service.Definition{
	App:                    cinderv1.ServiceName,
	Title:                  "Cinder",
	Outage:                 "no volume can be made, attached or detached; virtual machines go on with theirs",
	CatalogType:            cinderv1.ServiceType,
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

// checkScript is cinder-status, without what it asks that no upgrade of ours is about.
//
//go:embed check.py
var checkScript string

// sync only adds: a release that is older by one goes on with it.
var sync = []openstackv1.Step{service.Step("db-sync", "cinder-manage", "db", "sync")}

// Components, which are named as the processes are that run in them, and those of what they need.
const (
	scheduler = "scheduler"
	volumes   = "volume"
	backup    = "backup"
	archive   = "archive"

	storageComponent = "storage"
	typesComponent   = "volume-types"
)

// graph is what a Cinder consists of besides what every service does, and what needs what. It is in the catalog when volumes can be made.
//
// New versions go from the scheduler to the API, which speaks to all others. None of the releases has other versions of calls or objects
// than those before it, so that no process has to start a second time (cinder.volume.rpcapi, cinder.objects.base).
// https://docs.openstack.org/cinder/latest/admin/upgrades.html#upgrade-procedure
var graph = service.Graph(
	&definition,
	service.ExtraComponent[*model]{Component: service.Daemon[*model](scheduler, pods), Before: "api", NeededBy: "catalog"},
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{Name: storageComponent, Needs: []string{"companion-access"}, Build: storage}, Before: scheduler,
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](volumes, storageRolloutOrder, scheduler), Before: "api", NeededBy: "catalog", RolloutBefore: "api",
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](backup, storageRolloutOrder, volumes), Before: "api", NeededBy: "catalog", RolloutBefore: "api",
	},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{
		Name: typesComponent, Needs: []string{"api", "catalog"}, Build: volumeTypes,
	}},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{
		Name: checkComponent, Needs: []string{"api", "catalog"}, Build: check,
	}},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: archive, Needs: []string{"api"}, Build: archival}},
)

// pods are what comes before those of each process, and withStorage before those that keep volumes or backups somewhere.
var (
	pods                = []string{"schema", "certificate", "identity", "queue"}
	storageRolloutOrder = append([]string{storageComponent}, pods...)
)

// model is everything that builders read, derived once.
type model struct {
	*service.Service
	spec *cinderv1.CinderSpec
	// backends are where volumes are kept, and target where backups are.
	backends []backend
	target   target
	// conversion is the size of the directory in which a pod converts images.
	conversion resource.Quantity
	// previous are the backends as they were last reported, and checked is what the companion finds.
	previous []cinderv1.BackendStatus
	checked  *observe.Object
}

func derive(in function.Input[cinderv1.Cinder]) (*model, error) {
	m := &model{spec: &in.XR.Spec, previous: in.XR.Status.Backends}
	m.checked, _ = in.Observed.Get(checkComponent)
	volume.SetDefaults(&m.spec.Storage)
	setDefaults(m.spec)
	spec := service.Spec{
		ServiceSpec: &m.spec.ServiceSpec, Workload: service.PlacedWorkload(m.spec.API, m.spec.Placement), UWSGI: &m.spec.UWSGI,
		Identity: &m.spec.Identity, Queue: &m.spec.Queue, MemoryField: "api.memory", Groups: volume.Groups(m.spec.Backends),
	}
	var err error
	m.Service, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Spec: spec, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Check: func(r release.Release) error {
			return volume.Check("spec", r, spec, &m.spec.Storage, &m.spec.Volume, m.spec.Coordination != nil)
		},
	})
	if err = errors.Join(
		err, service.CheckAmounts("spec.api", m.spec.API), service.CheckProcess("spec.scheduler", m.spec.Scheduler),
		service.CheckProcess("spec.volume", m.spec.Volume),
	); err != nil {
		return nil, err
	}
	if m.conversion, err = resource.ParseQuantity(m.spec.ConversionSize); err != nil {
		return nil, invalid.Field("spec.conversionSize", "%q is no quantity; set one such as 50Gi", m.spec.ConversionSize)
	}
	m.Logins = m.logins()
	// The file has another place in the image than where Cinder looks for it.
	m.Env = append(m.coordinationEnv(), corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "api_paste_config"), Value: data + "api-paste.ini"})
	if err := errors.Join(m.findBackends(), m.findTarget()); err != nil {
		return nil, err
	}
	if c := m.spec.Coordination; c != nil {
		m.Volumes = []service.Volume{m.SecretVolume(coordination, string(c.BindingSecretRef.Name), cinderv1.BindingCAKey)}
		m.Egress = []workload.Flow{{Ports: storePorts(c)}}
	}
	reached, err := keymanager.Reached(m.spec.KeyManager)
	if err != nil {
		return nil, err
	}
	m.APIEgress, m.Egress = peers, append(m.Egress, reached...)
	m.Content = compose.Stage{m.programs()}
	m.Jobs = []string{archive, typesComponent}
	m.Processes = m.processes(in.Observed)
	m.Options = m.options()
	return m, m.Render()
}

// setDefaults repeats the defaults of the schema, for callers that do not go through an API server.
func setDefaults(s *cinderv1.CinderSpec) {
	const month = 30
	if s.Archive.Schedule == "" {
		s.Archive.Schedule = "30 3 * * *"
	}
	if s.Archive.AfterDays == 0 {
		s.Archive.AfterDays = month
	}
}

// Groups of options by which Cinder logs in: to Nova, which is told of volumes that have grown, and to Glance, where images lie in the same
// Ceph; and for the token that is shown beside that of a user.
const (
	novaGroup    = "nova"
	glanceGroup  = "glance"
	serviceGroup = "service_user"
)

// logins are those of the release in effect: 2025.1 asks Glance as the user alone.
func (m *model) logins() []string {
	out := append([]string{serviceGroup, novaGroup}, keymanager.Logins(m.spec.KeyManager)...)
	if m.HasOption(glanceGroup, "auth_type") {
		out = append(out, glanceGroup)
	}
	return out
}

// peers are the services that every process asks.
var peers = []workload.Flow{{Ports: []int32{novav1.Port, glancev1.Port}}}

// processes are those besides the API.
func (m *model) processes(observed observe.State) []service.Process {
	out := []service.Process{m.daemon(service.Process{
		Process: m.spec.Scheduler, Name: scheduler, Title: "Cinder's scheduler", Command: []string{"cinder-scheduler"},
		Outage: "no volume is made", TerminationGracePeriod: terminationGracePeriod,
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

// daemon completes a process, which takes what it does from the message queue, and is recorded by the name of its pod: that of a process
// which has gone would stay behind, and volumes with it.
func (m *model) daemon(p service.Process) service.Process {
	p.Stateful, p.Logins = true, m.Logins
	p.Egress = append(p.Egress, peers...)
	p.Ready, p.Alive = workload.Connected(m.Spec.Queue.Port), workload.Attached(m.Spec.Queue.Host, m.Spec.Queue.Port)
	p.Env = append(append(workload.Self(), m.coordinationEnv()...), append([]corev1.EnvVar{
		{Name: oslo.MustEnvName("DEFAULT", "host"), Value: "$(" + workload.NameEnv + ")"},
		{Name: oslo.MustEnvName("DEFAULT", "graceful_shutdown_timeout"), Value: strconv.Itoa(int(p.TerminationGracePeriod.Seconds()))},
	}, p.Env...)...)
	return p
}

// data is where the image has the files that come with Cinder.
const data = "/opt/openstack/etc/cinder/"

// options are those of all processes. The catalog says where other services are; the cluster's own addresses are taken.
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
		},
		serviceGroup: {"send_service_user_token": true},
		// What would be done as root is done without any privilege: the helpers give up the capabilities that they have, and fail to keep others.
		// https://docs.openstack.org/oslo.privsep/latest/user/index.html
		"cinder_sys_admin": {"capabilities": []string{}},
		"privsep_osbrick":  {"capabilities": []string{}},
		novaGroup:          {"region_name": m.Spec.Region, "interface": "internal"},
	}
	if e := m.spec.Exposure; e != nil && e.Path != "" {
		// The Gateway takes the path away, so that Cinder cannot see it in requests.
		c["DEFAULT"]["public_endpoint"] = publicEndpoint(string(m.spec.Endpoints.Public))
	}
	// Requests read it, and place volumes there that name neither a zone nor a volume type with one.
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

// coreProperties are those of an image that are no custom ones: Cinder's default, and what it takes down of each image that it reads. Where
// that is the only other one, releases up to 2026.1 cannot make an image of the volume: they leave the name out, and send no properties as
// a property, which Glance refuses (_translate_to_glance in cinder/image/glance.py).
var coreProperties = []string{
	"checksum", "container_format", "disk_format", "image_name", "image_id", "min_disk", "min_ram", "name", "size", "signature_verified",
}

// archiveScript is cinder-manage, which removes records of processes besides.
//
//go:embed archive.py
var archiveScript string

// archival removes from the database what was deleted, and what processes have left whose pods were scaled away: no request of the API
// does.
func archival(m *model) ([]compose.Stage, error) {
	ordered, err := json.Marshal(m.managerReplicas())
	if err != nil {
		return nil, fmt.Errorf("cannot write down the processes: %w", err)
	}
	w := m.Workload.With(m.Sub(archive), archive)
	pod := m.JobPod(m.Image, m.Files, []string{
		"/opt/openstack/bin/python", "-c", archiveScript, "db", "purge", fmt.Sprint(m.spec.Archive.AfterDays),
	})
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "ORDERED", Value: string(ordered)})
	return service.SingleObjectComponent(archive, w.CronJob(pod, string(m.spec.Archive.Schedule), m.spec.Archive.Suspend)), nil
}

// managerReplicas are the pods that there are to be: their number by StatefulSet, by program.
func (m *model) managerReplicas() map[string]map[string]int32 {
	// A backup service that is taken away has no pods.
	out := map[string]map[string]int32{"cinder-backup": {m.Sub(backup): 0}}
	for _, p := range m.Processes {
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
