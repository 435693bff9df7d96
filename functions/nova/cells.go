package nova

import (
	"cmp"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// cellResource returns the resource name of a cell. Its prefix keeps it distinct from component names.
func cellResource(cell string) string { return "cell-" + cell }

// cell0 maps cell0, in which Nova records servers that were never scheduled.
func cell0(m *model) ([]compose.Stage, error) {
	_, address := compute.CellCA(m.Base, compute.Cell0, m.spec.Database, m.spec.Database, m.spec.Queue, m.spec.Queue)
	address.Queue = nil
	return service.SingleObjectComponent(cell0Component+"-mapping", c5c3.CellMapping(m.Meta(m.Sub(compute.Cell0)), openstackv1.CellMappingSpec{
		NovaName: common.ObjectName(m.Name), Cell: compute.Cell0, DatabaseConnection: address.DatabaseConnection(),
		Template: m.JobWorkload().Template(m.JobPod(m.Image, m.Files, nil)),
	})), nil
}

// cells builds the composite resources of the cells. They receive the target release: each migrates its own schema, and then replaces its
// pods.
func cells(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for i := range m.spec.Cells {
		cell := &m.spec.Cells[i]
		stage = append(stage, compose.Resource{Name: cellResource(cell.Name), Object: m.cell(cell), Management: true})
	}
	return []compose.Stage{stage}, nil
}

// cell returns the composite resource of a cell, with every field filled in.
func (m *model) cell(c *novav1.Cell) *novacellv1.NovaCell {
	s := m.spec.ServiceSpec
	s.Exposure = nil
	own := m.cellDatabase(c)
	s.Database = own
	if servers := c.Infrastructure; servers != nil && servers.Queue != nil {
		s.StreamBytes = rabbitmq.StreamLimit(servers.Queue.StorageSize)
	}
	return &novacellv1.NovaCell{
		TypeMeta: metav1.TypeMeta{
			APIVersion: novacellv1.GroupVersionKind.GroupVersion().String(), Kind: novacellv1.GroupVersionKind.Kind,
		},
		ObjectMeta: metav1.ObjectMeta{Name: novacellv1.Name(m.Name, c.Name), Namespace: m.Namespace},
		Spec: novacellv1.NovaCellSpec{
			ServiceSpec: s, Placement: m.spec.Placement, Cell: c.Name, Disabled: c.Disabled,
			NovaRef: common.LocalReference{Name: common.ObjectName(m.Name)}, NovaDatabase: m.spec.Database, NovaQueue: m.spec.Queue,
			Identity: m.spec.Identity, Queue: m.cellQueue(c), Conductor: c.Conductor, Metadata: c.Metadata,
			HypervisorNetworks: c.HypervisorNetworks, UWSGI: m.uwsgi, Consoles: m.spec.Consoles, Proxies: c.Consoles,
			Infrastructure: c.Infrastructure,
		},
	}
}

func (m *model) cellDatabase(c *novav1.Cell) common.Database {
	return *cmp.Or(c.Database, &m.spec.Database)
}
func (m *model) cellQueue(c *novav1.Cell) common.Queue { return *cmp.Or(c.Queue, &m.spec.Queue) }

// vhosts returns the permissions for the cells' virtual hosts: readers of a cell's address template fill in Nova's own user.
func (m *model) vhosts() []c5c3v1.QueuePermission {
	var out []c5c3v1.QueuePermission
	for i := range m.spec.Cells {
		c := &m.spec.Cells[i]
		q := m.cellQueue(c)
		out = append(out, c5c3v1.QueuePermission{Broker: q.Broker, Vhost: q.VirtualHost(compute.CellName(c.Name))})
	}
	return out
}

// authorities returns the CA volumes of the cells' own servers, for pods that read a cell's database or queue.
func (m *model) authorities() []service.Volume {
	var out []service.Volume
	for i := range m.spec.Cells {
		c := &m.spec.Cells[i]
		volumes, _ := compute.CellCA(m.Base, c.Name, m.spec.Database, m.cellDatabase(c), m.spec.Queue, m.cellQueue(c))
		out = append(out, volumes...)
	}
	return out
}

// cellWorkloads returns the workloads of the cells that log in.
func (m *model) cellWorkloads() []openstackv1.Consumer {
	var out []openstackv1.Consumer
	for _, c := range m.spec.Cells {
		name := novacellv1.Name(m.Name, c.Name)
		out = append(out, openstackv1.Consumer{Kind: "StatefulSet", Name: common.ObjectName(name + "-" + conductor)})
		if c.Metadata != nil {
			out = append(out, openstackv1.Consumer{Kind: "Deployment", Name: common.ObjectName(name + "-" + metadata)})
		}
	}
	return out
}

// startupCells returns the annotations of pods with the cells that they read at startup: a new cell, and a disabled one, replaces the pods.
func (m *model) startupCells() map[string]string {
	out := map[string]string{}
	pods, _ := m.observed.Get("deployment")
	for _, c := range m.spec.Cells {
		annotation := novav1.Group + "/" + c.Name
		maps.Copy(out, m.StartupAnnotations(m.observed, service.StartupInput{
			Resource: cellResource(c.Name), Path: []string{"status", "uuid"}, Annotation: annotation,
		}))
		disabled := pods.String("spec", "template", "metadata", "annotations", annotation+"-disabled")
		if m.upToDate(c) {
			disabled = ""
			if c.Disabled {
				disabled = "true"
			}
		}
		if disabled != "" {
			out[annotation+"-disabled"] = disabled
		}
	}
	return out
}

// oldestCompute returns the oldest nova-compute version of all cells.
func (m *model) oldestCompute() compute.Oldest {
	out := compute.Oldest{HostsListed: true}
	for _, c := range m.spec.Cells {
		out = out.And(compute.OldestOf(m.observed, cellResource(c.Name)))
	}
	return out
}

// upToDate reports whether Nova's mapping of a cell matches the desired one.
func (m *model) upToDate(c novav1.Cell) bool {
	o, ok := m.observed.Get(cellResource(c.Name))
	if !ok {
		return false
	}
	generation, _ := o.Int("status", "observedGeneration")
	disabled, _ := o.Map("spec")["disabled"].(bool)
	return disabled == c.Disabled && generation == o.Generation() && o.String("status", "phase") == common.ComponentReady
}

// cellStates returns the reported states of the cells.
func (m *model) cellStates() []novav1.CellState {
	out := make([]novav1.CellState, len(m.spec.Cells))
	for i, c := range m.spec.Cells {
		out[i] = novav1.CellState{Name: c.Name, Phase: common.ComponentWaiting}
		if o, ok := m.observed.Get(cellResource(c.Name)); ok {
			hosts, _ := o.Int("status", "computeNodes")
			out[i].Phase = cmp.Or(o.String("status", "phase"), common.ComponentCreating)
			out[i].UUID, out[i].ComputeNodes = o.String("status", "uuid"), int32(hosts) //nolint:gosec // hypervisors are thousands
		}
	}
	return out
}

// services builds the ServiceCheck of Nova's processes. No component depends on it while it fails.
func services(m *model) ([]compose.Stage, error) {
	known := []openstackv1.CheckedProcess{
		{Binary: "nova-conductor", StatefulSetName: common.ObjectName(m.Sub(conductor))},
		{Binary: "nova-scheduler", StatefulSetName: common.ObjectName(m.Sub(scheduler))},
	}
	for _, c := range m.spec.Cells {
		known = append(known, openstackv1.CheckedProcess{
			Binary: "nova-conductor", StatefulSetName: common.ObjectName(novacellv1.Name(m.Name, c.Name) + "-" + conductor),
		})
	}
	return service.SingleObjectComponent("service-check", c5c3.ServiceCheck(m.Meta(m.Name), openstackv1.ServiceCheckSpec{
		CloudCredentialsRef: m.Cloud(), Service: novav1.ServiceType, Processes: known, IntervalSeconds: int32(checkEvery.Seconds()),
	})), nil
}
