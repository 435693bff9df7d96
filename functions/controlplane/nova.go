package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	novacompute "github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// firstCell is the default cell.
const firstCell = "cell1"

// nova builds the composite resource of the compute service.
func nova(m *model, s *services.State) runtime.Object {
	xr := &novav1.Nova{TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name), Spec: m.novaSpec(s)}
	xr.Spec.ServiceSpec, xr.Spec.Identity = m.QueuedServiceSpec(s), m.IdentitySpec()
	return xr
}

// novaURL returns the address of the API inside the cluster as it appears in the catalog.
func novaURL(name, namespace string) string {
	return novav1.InternalURL(name, namespace) + novav1.Version
}

// novaAPI returns the settings of the API's pods as a Workload.
func novaAPI(n *controlplanev1.Nova) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(n.API, common.Process{}), n.Placement)
}

// novaSpec merges the Nova settings of the claim with the defaults of the size. The caller adds the settings that all services share.
func (m *model) novaSpec(s *services.State) novav1.NovaSpec {
	n := m.Spec.Services.Nova
	metadata := ptr.Deref(n.Metadata, controlplanev1.NovaMetadata{})
	consoles := ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{})
	consoles.Graphical = cmp.Or(consoles.Graphical, novav1.VNC)
	out := novav1.NovaSpec{
		Placement: n.Placement,
		Queue:     m.QueueSpec(), KeyManager: m.KeyManager(),
		API:       m.Process(n.API),
		Scheduler: m.Daemon(n.Scheduler),
		Conductor: m.Daemon(n.Conductor),
		UWSGI:     s.Processes(),
		Consoles:  consoles.Consoles,
		Quotas:    n.Quotas,
		Archive:   ptr.Deref(n.Archive, common.Archive{}),
		Flavors:   n.Flavors, Aggregates: n.Aggregates,
	}
	if !metadata.PerCell {
		out.Metadata = new(m.Process(&metadata.Process))
	}
	for _, c := range novaCells(n) {
		cell := novav1.Cell{Name: c.Name, Disabled: c.Disabled, Conductor: m.Daemon(c.Conductor, n.Conductor)}
		if cell.HypervisorNetworks = c.HypervisorNetworks; len(cell.HypervisorNetworks) == 0 {
			cell.HypervisorNetworks = n.HypervisorNetworks
		}
		if metadata.PerCell {
			cell.Metadata = new(m.Process(c.Metadata, &metadata.Process))
		}
		own := ptr.Deref(c.Consoles, controlplanev1.CellConsoles{})
		cell.Consoles.Process = m.Proxies(&own.Process, &consoles.Process)
		if consoles.Graphical != novav1.None {
			cell.Consoles.Exposure = m.ExternalEndpoint(own.Hostname, "console-"+c.Name)
		}
		if consoles.Serial {
			cell.Consoles.SerialExposure = m.ExternalEndpoint(own.SerialHostname, "serial-"+c.Name)
		}
		out.Cells = append(out.Cells, cell)
	}
	m.cellServers(s, &out)
	return out
}

// cellServers adds the servers of cells that have their own. Processes above the cells connect to these databases, too.
func (m *model) cellServers(s *services.State, nova *novav1.NovaSpec) {
	var cells map[string]map[string]any
	for i, c := range novaCells(m.Spec.Services.Nova) {
		if c.Infrastructure == nil {
			continue
		}
		if cells == nil {
			cells = observedCells(s)
		}
		m.serversOf(s, nova, &nova.Cells[i], c, observedCellServers(cells[c.Name]))
	}
}

func (m *model) serversOf(
	s *services.State, nova *novav1.NovaSpec, cell *novav1.Cell, c controlplanev1.NovaCell, previous novav1.CellInfrastructure,
) {
	cell.Infrastructure = &novav1.CellInfrastructure{Neighbours: m.Neighbours}
	if requested := c.Infrastructure.MariaDB; requested != nil {
		const others, rollOut = 100, 2
		connections := others + rollOut*(superConductorConnections(s, nova)+cellConnections(s, nova, *cell))
		own, _ := m.CellDatabase(c.Name, requested, previous.Database, connections)
		cell.Infrastructure.Database, cell.Database = own, m.OwnDatabaseAddress(c.Name, own)
	}
	if requested := c.Infrastructure.RabbitMQ; requested != nil {
		// Errors are reported by checkCellServers.
		cell.Infrastructure.Queue, _ = m.CellQueue("", requested, previous.Queue)
		cell.Queue = m.OwnQueueAddress(c.Name)
	}
}

// observedCells returns the cell settings in the observed spec of Nova, by name. It is called once for all cells, because they are most of
// that spec.
func observedCells(s *services.State) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, item := range s.Observed.List("spec", "cells") {
		cell, _ := item.(map[string]any)
		name, _ := cell["name"].(string)
		out[name] = cell
	}
	return out
}

// observedCellServers returns the cell's own servers in an observed cell.
func observedCellServers(cell map[string]any) novav1.CellInfrastructure {
	var out novav1.CellInfrastructure
	if cell["infrastructure"] == nil {
		return out
	}
	// The value was composed from the same type.
	if data, err := json.Marshal(cell["infrastructure"]); err == nil {
		_ = json.Unmarshal(data, &out)
	}
	return out
}

// checkCellServers returns an error for impossible changes of a cell's own servers, which are created and removed with their cell.
func (m *model) checkCellServers(s *services.State) error {
	spec, cells := m.novaSpec(s), observedCells(s)
	var errs []error
	for i, c := range novaCells(m.Spec.Services.Nova) {
		field, previous := s.FieldPath(fmt.Sprintf(".cells[%d].infrastructure", i)), observedCellServers(cells[c.Name])
		requested := ptr.Deref(c.Infrastructure, controlplanev1.CellInfrastructure{})
		for _, server := range []struct {
			name             string
			current, desired bool
		}{{"mariadb", previous.Database != nil, requested.MariaDB != nil}, {"rabbitmq", previous.Queue != nil, requested.RabbitMQ != nil}} {
			if server.current != server.desired && cells[c.Name] != nil {
				errs = append(errs, invalid.Field(field+"."+server.name, "cannot be added or removed, because the data of a cell cannot be moved and "+
					"hypervisors are configured with its queue; restore the previous value and add another cell"))
			}
		}
		errs = append(errs, m.CheckCellExternalDatabase(field, c.Infrastructure))
		if requested.MariaDB != nil {
			desired := spec.Cells[i].Infrastructure.Database
			errs = append(errs, infrastructure.CheckCellDatabase(field+".mariadb", desired, previous.Database, requested.MariaDB))
		}
		if requested.RabbitMQ != nil {
			errs = append(errs, m.CheckCellQueue(field+".rabbitmq", requested.RabbitMQ, previous.Queue))
		}
	}
	return errors.Join(errs...)
}

// novaDatabases lists the databases of cells that have their own.
func novaDatabases(m *model, s *services.State) []infrastructure.DatabaseServer {
	var out []infrastructure.DatabaseServer
	for _, c := range m.novaSpec(s).Cells {
		if c.Infrastructure != nil && c.Infrastructure.Database != nil {
			out = append(out, infrastructure.DatabaseServer{Name: string(c.Database.MariaDBRef.Name), Members: c.Infrastructure.Database.Replicas})
		}
	}
	return out
}

func novaCells(n *controlplanev1.Nova) []controlplanev1.NovaCell {
	if len(n.Cells) == 0 {
		return []controlplanev1.NovaCell{{Name: firstCell}}
	}
	return n.Cells
}

func checkNova(m *model, s *services.State, r release.Release) error {
	n := m.Spec.Services.Nova
	spec := s.CheckedSpec()
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.Process(n.API), n.Placement), "api.memory"
	errs := []error{
		m.CheckQueue(s), m.CheckOther(s, placementv1.ServiceName), spec.Check(s.FieldPath(""), s.Name, r), m.checkCells(s), m.checkCellServers(s),
		checkProcesses(s, n), m.checkConsoles(s, n), checkAggregates(s, n.Aggregates), checkFlavors(s, n.Flavors),
		checkFlavorSpecs(s, n.Flavors, r), m.checkFilters(s, r),
	}
	if a := n.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.FieldPath(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// cardFilter keeps servers with ports of network cards away from hypervisors without cards (SR-IOV).
const cardFilter = "PciPassthroughFilter"

// checkFilters returns an error for a list of scheduler filters without the filter that gives ports functions of network cards. The list of
// the claim replaces the default list, which contains it.
func (m *model) checkFilters(s *services.State, r release.Release) error {
	neutron := m.Spec.Services.Neutron
	if neutron == nil || !neutron.Enabled || neutron.ML2 == nil || neutron.ML2.SRIOV == nil {
		return nil
	}
	options, _ := override.Options(s.Name, string(r), s.CheckedSpec().Overrides, s.FieldPath("")) // Spec.Check returns its errors.
	value, set := options["filter_scheduler"]["enabled_filters"]
	if !set {
		return nil
	}
	var filters []string
	switch v := value.(type) {
	case []string:
		filters = v
	case string:
		for item := range strings.SplitSeq(v, ",") {
			filters = append(filters, strings.TrimSpace(item))
		}
	}
	if slices.Contains(filters, cardFilter) {
		return nil
	}
	return invalid.Field(s.FieldPath(".config.filter_scheduler.enabled_filters"), "must contain %s, because services.neutron.ml2.sriov gives "+
		"ports functions of network cards, and servers with such ports would go to hypervisors "+
		"without cards; add it, or remove ml2.sriov", cardFilter)
}

// checkProcesses returns an error for resources of a process that are too small.
func checkProcesses(s *services.State, n *controlplanev1.Nova) error {
	var errs []error
	check := func(field string, requested *common.Process) {
		if requested != nil {
			errs = append(errs, openstack.CheckProcess(s.FieldPath(field), *requested))
		}
	}
	if n.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.FieldPath(".api"), *n.API))
	}
	check(".conductor", n.Conductor)
	check(".scheduler", n.Scheduler)
	if n.Metadata != nil {
		check(".metadata", &n.Metadata.Process)
	}
	if n.Consoles != nil {
		check(".consoles", &n.Consoles.Process)
	}
	for i, c := range n.Cells {
		in := fmt.Sprintf(".cells[%d]", i)
		check(in+".conductor", c.Conductor)
		check(in+".metadata", c.Metadata)
		if c.Consoles != nil {
			check(in+".consoles", &c.Consoles.Process)
		}
	}
	return errors.Join(errs...)
}

// checkCells returns an error for changes that would lose a cell, and for settings without effect.
func (m *model) checkCells(s *services.State) error {
	n := m.Spec.Services.Nova
	cells := novaCells(n)
	var errs []error
	for _, previous := range s.Observed.List("spec", "cells") {
		cell, _ := previous.(map[string]any)
		if !slices.ContainsFunc(cells, func(c controlplanev1.NovaCell) bool { return c.Name == cell["name"] }) {
			errs = append(errs, invalid.Field(s.FieldPath(".cells"), "cell %s exists and has servers; it cannot be removed or "+
				"renamed; keep it and set disabled: true", cell["name"]))
		}
	}
	for i, c := range n.Cells {
		if c.Metadata != nil && !ptr.Deref(n.Metadata, controlplanev1.NovaMetadata{}).PerCell {
			errs = append(errs, invalid.Field(s.FieldPath(fmt.Sprintf(".cells[%d].metadata", i)),
				"metadata runs once per cloud; set metadata.perCell: true, or remove this field"))
		}
	}
	return errors.Join(errs...)
}

// novaPods returns the costs of all processes.
func novaPods(m *model, s *services.State) []bounds.CostItem {
	spec := m.novaSpec(s)
	var out []bounds.CostItem
	add := func(field string, p *common.Process, times int32) {
		if p != nil && times > 0 {
			out = append(out, bounds.CostItem{
				Field: s.FieldPath(field), Replicas: *p.Replicas, Times: times, Resources: openstack.Resources(*p), Short: true,
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
		if own := c.Infrastructure; own != nil {
			in := s.FieldPath(in + ".infrastructure.")
			if own.Database != nil {
				out = append(out, bounds.CostOf(in+"mariadb", minimum.MariaDB, own.Database.Members))
			}
			if own.Queue != nil {
				out = append(out, bounds.CostOf(in+"rabbitmq", minimum.RabbitMQ, own.Queue.Members))
			}
		}
	}
	// All APIs use the same number of uWSGI processes, so it is listed once.
	return append(out, bounds.CostItem{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes})
}

// proxiesOf returns the number of console proxies of a cell.
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

// novaConnections returns the maximum number of connections that Nova opens to the shared database server.
func novaConnections(m *model, s *services.State) int64 {
	spec := m.novaSpec(s)
	databases, out := int64(2), int64(0) //nolint:mnd // the API's and cell0
	for _, c := range spec.Cells {
		if c.Infrastructure == nil || c.Infrastructure.Database == nil {
			databases++
			out += cellConnections(s, &spec, c)
		}
	}
	return out + databases*superConductorConnections(s, &spec)
}

// superConductorConnections returns the number of connections that processes above the cells open to each database: they connect to the
// database of every cell.
func superConductorConnections(s *services.State, spec *novav1.NovaSpec) int64 {
	out := s.ThreadsOf(spec.API) + claim.PoolConnections(spec.Scheduler) + claim.PoolConnections(spec.Conductor)
	if spec.Metadata != nil {
		out += s.ThreadsOf(*spec.Metadata)
	}
	return out
}

// cellConnections returns the number of connections that a cell's own processes open to its database.
func cellConnections(s *services.State, spec *novav1.NovaSpec, c novav1.Cell) int64 {
	out := claim.PoolConnections(c.Conductor) + int64(*c.Consoles.Replicas)*int64(proxiesOf(spec.Consoles))*claim.PoolSize
	if c.Metadata != nil {
		out += s.ThreadsOf(*c.Metadata)
	}
	return out
}

// novaHosts lists the host names of consoles.
func novaHosts(m *model, s *services.State) []services.Host {
	var out []services.Host
	for i, c := range m.novaSpec(s).Cells {
		at := fmt.Sprintf(".cells[%d].consoles.", i)
		out = append(out,
			services.Host{"consoles of " + c.Name, s.FieldPath(at + "hostname"), c.Consoles.Exposure},
			services.Host{"serial consoles of " + c.Name, s.FieldPath(at + "serialHostname"), c.Consoles.SerialExposure},
		)
	}
	return out
}

func novaReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case controlplanev1.Nova:
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".hypervisorNetworks", v.HypervisorNetworks)
	case controlplanev1.NovaCell:
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".hypervisorNetworks", v.HypervisorNetworks)
	}
	return nil
}

// novaReport copies the state of the cells.
func novaReport(s *services.State, status *controlplanev1.ControlPlaneClusterStatus) {
	for _, reported := range s.Observed.List("status", "cells") {
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

// novaHypervisorAccess adds the cells and the credentials of their hypervisors.
func novaHypervisorAccess(m *model, s *services.State, to *controlplanev1.HypervisorAccess) {
	to.CredentialSecretRef = claim.LocalReference(novacompute.Secret(s.Name, novacompute.CredentialSecret))
	to.MetadataSecretRef = claim.LocalReference(novacompute.Secret(s.Name, novacompute.MetadataSecret))
	spec := m.novaSpec(s)
	for _, c := range spec.Cells {
		name := novacellv1.Name(s.Name, c.Name)
		cell := controlplanev1.CellAccess{
			Name: c.Name, Queue: spec.Queue, ExternalQueue: m.ExternalQueue(),
			VirtualHost:    spec.Queue.VirtualHost(novacompute.CellName(c.Name)),
			QueueSecretRef: claim.LocalReference(novacompute.Secret(name, novacompute.QueueSecret)), MetadataHost: m.HostOf(s.Name + "-metadata"),
			HypervisorNetworks: c.HypervisorNetworks,
		}
		if c.Queue != nil {
			cell.Queue, cell.ExternalQueue = *c.Queue, nil
		}
		if c.Metadata != nil {
			cell.MetadataHost = m.HostOf(name + "-metadata")
		}
		switch spec.Consoles.Graphical {
		case novav1.VNC:
			cell.VNCURL = common.URL(m.ProxyURL(c.Consoles.Exposure, name+"-vnc", novav1.VNCPort) + novacompute.VNCPage)
		case novav1.SPICE:
			cell.SPICEURL = common.URL(m.ProxyURL(c.Consoles.Exposure, name+"-spice", novav1.SPICEPort) + novacompute.SPICEPage)
		}
		if spec.Consoles.Serial {
			cell.SerialURL = claim.WebSocketURL(m.ProxyURL(c.Consoles.SerialExposure, name+"-serial", novav1.SerialPort))
		}
		to.Cells = append(to.Cells, cell)
	}
}

// companionEgressPorts returns the ports of the services that the companion calls in addition to Keystone: Nova, Placement and Neutron for
// the records of hypervisors, and Cinder.
func (m *model) companionEgressPorts() []int32 {
	var out []int32
	if n := m.Spec.Services.Nova; n != nil && n.Enabled {
		out = append(out, novav1.Port, placementv1.Port, neutronv1.Port)
	}
	if c := m.Spec.Services.Cinder; c != nil && c.Enabled {
		out = append(out, cinderv1.Port)
	}
	return out
}

// novaLocations lists where backups of the databases of cells are stored.
func novaLocations(m *model, s *services.State) []bounds.Location {
	backup := m.Spec.Infrastructure.MariaDB.Backup
	if backup == nil {
		return nil
	}
	var out []bounds.Location
	for i, c := range m.Spec.Services.Nova.Cells {
		if c.Infrastructure != nil && c.Infrastructure.MariaDB != nil {
			field := s.FieldPath(fmt.Sprintf(".cells[%d].infrastructure.mariadb", i))
			out = append(out, bounds.BucketLocation(field, backup.S3.Endpoint, backup.S3.Bucket,
				bounds.Joined(backup.S3.Prefix, "cells", c.Name)))
		}
	}
	return out
}

// checkConsoles returns an error for host names of consoles that do not run, or that are not exposed.
func (m *model) checkConsoles(s *services.State, n *controlplanev1.Nova) error {
	requested := ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{})
	var errs []error
	for i, c := range n.Cells {
		own, field := ptr.Deref(c.Consoles, controlplanev1.CellConsoles{}), s.FieldPath(fmt.Sprintf(".cells[%d].consoles", i))
		switch {
		case own.Hostname != "" && requested.Graphical == novav1.None:
			errs = append(errs, invalid.Field(field+".hostname", "requires graphical consoles, and consoles.graphical of the service is None; "+
				"set it to VNC or SPICE, or remove the host name"))
		default:
			errs = append(errs, m.CheckExposed(field+".hostname", own.Hostname))
		}
		switch {
		case own.SerialHostname != "" && !requested.Serial:
			errs = append(errs, invalid.Field(field+".serialHostname", "requires serial consoles; set consoles.serial of the service to true, "+
				"or remove the host name"))
		default:
			errs = append(errs, m.CheckExposed(field+".serialHostname", own.SerialHostname))
		}
	}
	return errors.Join(errs...)
}
