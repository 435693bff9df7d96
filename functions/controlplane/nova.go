package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// firstCell is the cell of a claim that names none.
const firstCell = "cell1"

// nova is the compute service.
func nova(m *model, s *serviceState) runtime.Object {
	xr := &novav1.Nova{TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name), Spec: m.novaSpec(s)}
	xr.Spec.ServiceSpec, xr.Spec.Identity = m.serviceSpec(s), m.identitySpec()
	return xr
}

// novaURL is the address of the API inside the cluster, as the catalog has it.
func novaURL(name, namespace string) string {
	return novav1.InternalURL(name, namespace) + novav1.Version
}

// novaAPI is what the claim says of the API's pods, in the form of all services.
func novaAPI(n *controlplanev1.Nova) common.Workload {
	return *openstack.Shape(ptr.Deref(n.API, common.Process{}), n.Placement)
}

// novaSpec is what the claim says of Nova, over its size, without what every service is told.
func (m *model) novaSpec(s *serviceState) novav1.NovaSpec {
	n := m.spec.Services.Nova
	scheduler, metadata := ptr.Deref(n.Scheduler, controlplanev1.NovaScheduler{}), ptr.Deref(n.Metadata, controlplanev1.NovaMetadata{})
	consoles := ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{})
	consoles.Graphical = cmp.Or(consoles.Graphical, novav1.VNC)
	out := novav1.NovaSpec{
		Placement: n.Placement,
		Queue:     m.queueSpec(),
		API:       m.process(n.API),
		Scheduler: m.process(&scheduler.Process),
		Conductor: m.process(n.Conductor),
		UWSGI:     s.processes(),
		Consoles:  consoles.Consoles,
		Quotas:    n.Quotas,
		Archive:   ptr.Deref(n.Archive, common.Archive{}),
	}
	if !metadata.PerCell {
		out.Metadata = new(m.process(&metadata.Process))
	}
	for _, c := range novaCells(n) {
		cell := novav1.Cell{Name: c.Name, Disabled: c.Disabled, Conductor: m.process(c.Conductor, n.Conductor)}
		if metadata.PerCell {
			cell.Metadata = new(m.process(c.Metadata, &metadata.Process))
		}
		own := ptr.Deref(c.Consoles, controlplanev1.CellConsoles{})
		cell.Consoles.Process = m.proxies(&own.Process, &consoles.Process)
		if consoles.Graphical != novav1.None {
			cell.Consoles.Exposure = m.at(own.Hostname, "console-"+c.Name)
		}
		if consoles.Serial {
			cell.Consoles.SerialExposure = m.at(own.SerialHostname, "serial-"+c.Name)
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

func novaCells(n *controlplanev1.Nova) []controlplanev1.NovaCell {
	if len(n.Cells) == 0 {
		return []controlplanev1.NovaCell{{Name: firstCell}}
	}
	return n.Cells
}

// process is what is said of a process, the first first, over what the size gives an API's pod.
func (m *model) process(said ...*common.Process) common.Process {
	r := m.size.apiResources.Requests
	return processOver(common.Process{
		Replicas: new(m.size.api), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, said)
}

// proxies are the same for what only passes on what others say.
func (m *model) proxies(said ...*common.Process) common.Process {
	const enough = 2
	return processOver(common.Process{
		Replicas: new(min(m.size.api, enough)), CPU: new(intstr.FromString("50m")), Memory: "256Mi",
	}, said)
}

func processOver(out common.Process, said []*common.Process) common.Process {
	for _, p := range slices.Backward(said) {
		if p != nil {
			out = common.Process{Replicas: cmp.Or(p.Replicas, out.Replicas), CPU: cmp.Or(p.CPU, out.CPU), Memory: cmp.Or(p.Memory, out.Memory)}
		}
	}
	return out
}

// queueSpec is what a service is told of the message queue.
func (m *model) queueSpec() common.Queue {
	return common.Queue{
		RabbitMQRef: common.LocalReference{Name: rabbitMQName},
		Host:        m.queueHost(),
		Port:        common.QueuePort,
		CASecretRef: common.SecretKeyReference{Name: queueTLS, Key: certificate.CAKey},
	}
}

func checkNova(m *model, s *serviceState, r release.Release) error {
	n := m.spec.Services.Nova
	spec := s.spec()
	spec.Workload, spec.MemoryField = openstack.Shape(m.process(n.API), n.Placement), "api.memory"
	errs := []error{
		m.checkQueue(s), m.checkOther(s, placementv1.ServiceName), spec.Check(s.field(""), s.name, r), m.checkCells(s),
	}
	if a := n.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.field(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// checkCells refuses what would lose a cell, or do nothing.
func (m *model) checkCells(s *serviceState) error {
	n := m.spec.Services.Nova
	cells := novaCells(n)
	var errs []error
	for _, was := range s.seen.List("spec", "cells") {
		cell, _ := was.(map[string]any)
		if !slices.ContainsFunc(cells, func(c controlplanev1.NovaCell) bool { return c.Name == cell["name"] }) {
			errs = append(errs, invalid.Field(s.field(".cells"), "virtual machines are recorded in %s, which is there and cannot be removed or "+
				"renamed; name it here, with disabled: true to close it", cell["name"]))
		}
	}
	for i, c := range n.Cells {
		if c.Metadata != nil && !ptr.Deref(n.Metadata, controlplanev1.NovaMetadata{}).PerCell {
			errs = append(errs, invalid.Field(s.field(fmt.Sprintf(".cells[%d].metadata", i)),
				"the metadata API runs once, above the cells; say metadata.perCell: true, or leave this out"))
		}
	}
	return errors.Join(errs...)
}

// novaPods are those of every process.
func novaPods(m *model, s *serviceState) []part {
	spec := m.novaSpec(s)
	var out []part
	add := func(field string, p *common.Process, times int32) {
		if p != nil && times > 0 {
			out = append(out, part{
				field: s.field(field), replicas: *p.Replicas, times: times, resources: openstack.Resources(*p), short: true,
			})
		}
	}
	add(".api", &spec.API, 1)
	add(".scheduler", &spec.Scheduler, 1)
	add(".conductor", &spec.Conductor, 1)
	add(".metadata", spec.Metadata, 1)
	for i, c := range spec.Cells {
		in := fmt.Sprintf(".cells[%d]", i)
		add(in+".conductor", &c.Conductor, 1)
		add(in+".metadata", c.Metadata, 1)
		add(in+".consoles", &c.Consoles.Process, proxiesOf(spec.Consoles))
	}
	// The same number for every API, said once.
	return append(out, part{field: s.field(""), processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes})
}

// proxiesOf is how many console proxies a cell has.
func proxiesOf(c novav1.Consoles) int32 {
	out := int32(0)
	if c.Graphical != novav1.None {
		out++
	}
	if c.Serial {
		out++
	}
	return out
}

// novaConnections is how many Nova opens at most. What is above the cells looks into each cell's database, besides that of the API and
// cell0; a daemon's worker keeps a pool for each database (https://docs.openstack.org/oslo.db/latest/reference/opts.html).
func novaConnections(m *model, s *serviceState) int64 {
	const pool = 5
	spec := m.novaSpec(s)
	workers := func(p common.Process) int64 { return int64(*p.Replicas) * int64(openstack.Workers(p)) * pool }
	threads := func(p common.Process) int64 { return int64(*p.Replicas) * s.threads() / int64(*s.workload.Replicas) }
	above := threads(spec.API) + workers(spec.Scheduler) + workers(spec.Conductor)
	if spec.Metadata != nil {
		above += threads(*spec.Metadata)
	}
	out := above * int64(2+len(spec.Cells)) //nolint:mnd // the API's and cell0
	for _, c := range spec.Cells {
		out += workers(c.Conductor) + int64(*c.Consoles.Replicas)*int64(proxiesOf(spec.Consoles))*pool
		if c.Metadata != nil {
			out += threads(*c.Metadata)
		}
	}
	return out
}

// novaHosts are those of consoles.
func novaHosts(m *model, s *serviceState) []host {
	var out []host
	for i, c := range m.novaSpec(s).Cells {
		at := fmt.Sprintf(".cells[%d].consoles.", i)
		out = append(out,
			host{"consoles of " + c.Name, s.field(at + "hostname"), c.Consoles.Exposure},
			host{"serial consoles of " + c.Name, s.field(at + "serialHostname"), c.Consoles.SerialExposure},
		)
	}
	return out
}

// novaReport is what is known of the cells.
func novaReport(s *serviceState, status *controlplanev1.ControlPlaneClusterStatus) {
	for _, reported := range s.seen.List("status", "cells") {
		cell, _ := reported.(map[string]any)
		name, _ := cell["name"].(string)
		phase, _ := cell["phase"].(string)
		if name == "" || phase == "" {
			continue
		}
		hosts, _ := cell["computeNodes"].(float64)
		status.Cells = append(status.Cells, controlplanev1.CellStatus{Name: name, Phase: phase, ComputeNodes: int32(hosts)})
	}
}
