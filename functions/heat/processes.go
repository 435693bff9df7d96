package heat

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// healthPath responds without a login in both APIs.
const healthPath = "/healthcheck"

// blockStorage is Cinder's port (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
const blockStorage = 8776

// serviceEgress is egress to the services of which engines create resources.
var serviceEgress = workload.Flow{Ports: []int32{novav1.Port, blockStorage, glancev1.Port, barbicanv1.Port, neutronv1.Port}}

// workers returns the number of workers of an engine's pod.
func (m *model) workers() int32 { return service.Processes(service.Resources(m.spec.Engine)) }

// processes returns the processes in addition to the API.
func (m *model) processes() []service.Process {
	queue := m.Spec.Queue
	out := []service.Process{{
		Process: m.spec.Engine, Name: engine, Title: "Heat's engine", Command: []string{"heat-engine"},
		Outage:                 "stacks cannot be created, changed or listed",
		TerminationGracePeriod: engineTerminationGracePeriod, Egress: []workload.Flow{serviceEgress}, Mounts: []service.Volume{m.IdentityCA()},
		Ready: workload.Connected(queue.Port), Alive: workload.Attached(queue.Host, queue.Port),
		Env: []corev1.EnvVar{
			// Workers of a host share a queue, and each worker also has a queue with its ID: with host names that change, unused queues would
			// accumulate.
			{Name: oslo.MustEnvName("DEFAULT", "host"), Value: m.Sub(engine)},
			{Name: oslo.MustEnvName("DEFAULT", "graceful_shutdown_timeout"), Value: strconv.Itoa(int(engineTerminationGracePeriod.Seconds()))},
			workload.SecretEnv(oslo.MustEnvName(trusteeGroup, "password"), m.Sub("user"), secret.PasswordKey),
			workload.SecretEnv(oslo.MustEnvName("DEFAULT", "stack_domain_admin_password"), m.adminSecret(), secret.PasswordKey),
			workload.SecretEnv(oslo.MustEnvName("DEFAULT", "auth_encryption_key"), m.keySecret(), secret.PasswordKey),
		},
	}}
	if c := m.spec.CFN; c != nil {
		p := service.Process{
			Process: c.Process, Name: cfn, Title: "Heat's API of CloudFormation",
			Outage: "servers cannot send signals, and stacks that wait for a signal do not complete",
			Port:   heatv1.CFNPort, Exposure: c.Exposure, Shared: true, Logins: []string{tokenGroup,
				reportGroup}, TerminationGracePeriod: terminationGracePeriod,
			Ready: workload.HTTPS(service.ProcessPort, healthPath),
		}
		p.Server = m.Serve(p, "heat.wsgi.cfn:application")
		out = append(out, p)
	}
	return out
}

// archive purges deleted rows from the database, and records of engines without heartbeats.
// https://docs.openstack.org/heat/latest/cli/heat-manage.html
func archive(m *model) (service.Archive, error) {
	a := m.spec.Archive
	a.Suspend = a.Suspend || m.Quiesced
	script := fmt.Sprintf("heat-manage purge_deleted --granularity days %d && heat-manage service clean\n", a.AfterDays)
	return service.Archive{Archive: a, Command: []string{"sh", "-c", script}}, nil
}
