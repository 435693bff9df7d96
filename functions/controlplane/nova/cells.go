package nova

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// cellServers adds the servers of cells that have their own. Processes above the cells connect to these databases, too.
func cellServers(m *services.Cloud, s *services.State, nova *novav1.NovaSpec) error {
	cells := cellsOf(m.Spec.Services.Nova)
	if !slices.ContainsFunc(cells, func(c controlplanev1.NovaCell) bool { return c.Infrastructure != nil }) {
		return nil
	}
	previous, err := observedCells(s)
	errs := []error{err}
	for i, c := range cells {
		if c.Infrastructure != nil {
			errs = append(errs, serversOf(m, s, nova, i, c, previous[c.Name]))
		}
	}
	return errors.Join(errs...)
}

// serversOf adds the servers of a cell that has its own.
func serversOf(
	m *services.Cloud, s *services.State, nova *novav1.NovaSpec, i int, c controlplanev1.NovaCell, previous novav1.CellInfrastructure,
) error {
	cell, errs := &nova.Cells[i], []error(nil)
	cell.Infrastructure = &novav1.CellInfrastructure{Neighbours: m.Neighbours}
	if requested := c.Infrastructure.MariaDB; requested != nil {
		const others, rollOut = 100, 2
		connections := others + rollOut*(superConductorConnections(s, nova)+cellConnections(s, nova, *cell))
		own, err := m.CellDatabase(c.Name, requested, previous.Database, connections)
		errs = append(errs, err)
		cell.Infrastructure.Database, cell.Database = own, m.OwnDatabaseAddress(c.Name, own)
	}
	if requested := c.Infrastructure.RabbitMQ; requested != nil {
		own, err := m.CellQueue(s.FieldPath(fmt.Sprintf(".cells[%d].infrastructure.rabbitmq", i)), requested, previous.Queue)
		errs = append(errs, err)
		cell.Infrastructure.Queue, cell.Queue = own, m.OwnQueueAddress(c.Name)
	}
	return errors.Join(errs...)
}

// observedCells returns the cells' own servers in the observed spec of Nova, by the name of the cell. It is called once for all cells,
// because they are most of that spec.
func observedCells(s *services.State) (map[string]novav1.CellInfrastructure, error) {
	out := map[string]novav1.CellInfrastructure{}
	for _, item := range s.Observed.List("spec", "cells") {
		cell, _ := item.(map[string]any)
		name, _ := cell["name"].(string)
		var servers novav1.CellInfrastructure
		if cell["infrastructure"] != nil {
			data, err := json.Marshal(cell["infrastructure"])
			if err != nil {
				return nil, fmt.Errorf("encode the servers of cell %s: %w", name, err)
			}
			if err := json.Unmarshal(data, &servers); err != nil { // They were composed from the same type.
				return nil, fmt.Errorf("decode the servers of cell %s: %w", name, err)
			}
		}
		out[name] = servers
	}
	return out, nil
}

// checkCellServers returns an error for impossible changes of a cell's own servers, which are created and removed with their cell.
func (x model) checkCellServers() error {
	m, s := x.Cloud, x.State
	cells, err := observedCells(s)
	errs := []error{err, x.err}
	for i, c := range cellsOf(m.Spec.Services.Nova) {
		field := s.FieldPath(fmt.Sprintf(".cells[%d].infrastructure", i))
		previous, exists := cells[c.Name]
		requested := ptr.Deref(c.Infrastructure, controlplanev1.CellInfrastructure{})
		for _, server := range []struct {
			name             string
			current, desired bool
		}{{"mariadb", previous.Database != nil, requested.MariaDB != nil}, {"rabbitmq", previous.Queue != nil, requested.RabbitMQ != nil}} {
			if server.current != server.desired && exists {
				errs = append(errs, invalid.Field(field+"."+server.name, "cannot be added or removed, because the data of a cell cannot be moved and "+
					"hypervisors are configured with its queue; restore the previous value and add another cell"))
			}
		}
		errs = append(errs, m.CheckCellExternalDatabase(field, c.Infrastructure), m.CheckCellExternalQueue(field, c.Infrastructure))
		if requested.MariaDB != nil {
			desired := x.spec.Cells[i].Infrastructure.Database
			errs = append(errs, infrastructure.CheckCellDatabase(field+".mariadb", desired, previous.Database, requested.MariaDB))
		}
	}
	return errors.Join(errs...)
}

// Databases lists the databases of cells that have their own.
func (x model) Databases() []infrastructure.DatabaseServer {
	var out []infrastructure.DatabaseServer
	for _, c := range x.spec.Cells {
		if c.Infrastructure != nil && c.Infrastructure.Database != nil {
			out = append(out, infrastructure.DatabaseServer{
				Name: string(c.Database.MariaDBRef.Name), Members: c.Infrastructure.Database.Replicas,
			})
		}
	}
	return out
}

// cellsOf returns the cells of the claim, by default one.
func cellsOf(n *controlplanev1.Nova) []controlplanev1.NovaCell {
	if len(n.Cells) == 0 {
		return []controlplanev1.NovaCell{{Name: firstCell}}
	}
	return n.Cells
}

// checkCells returns an error for changes that would lose a cell, and for settings without effect.
func checkCells(m *services.Cloud, s *services.State) error {
	n := m.Spec.Services.Nova
	cells := cellsOf(n)
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
