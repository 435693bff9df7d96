package computetest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// LiveMigrations returns the IDs of the servers for which a migration was requested.
func (n *Nova) LiveMigrations() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.moves)
}

// Actions returns the accepted operations on servers: the name of the operation, and the ID of the server.
func (n *Nova) Actions() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.actions)
}

// FailMoves sets the message with which migrations of a server fail; "" resets it. Nova accepts their requests.
func (n *Nova) FailMoves(id, message string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.moveErrors == nil {
		n.moveErrors = map[string]string{}
	}
	n.moveErrors[id] = message
}

// End ends the operations in progress. Servers that migrate move to the given host, or stay if it is "". A cold migration then waits for
// its confirmation. It returns the number of migrations.
func (n *Nova) End(to, at string) (count int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		var stay []compute.Server
		for _, s := range h.Servers {
			switch s.Task {
			case "migrating", "resize_migrating":
				count++
				if n.end(h, s, to, at) {
					continue
				}
				s.Task = ""
			case "powering-off":
				s.Status, s.Task = "SHUTOFF", ""
			case "powering-on":
				s.Status, s.Task = "ACTIVE", ""
			}
			stay = append(stay, s)
		}
		h.Servers = stay
	}
	return count
}

// end ends the migration of a server, and reports whether it has left its host.
func (n *Nova) end(h *Hypervisor, s compute.Server, to, at string) bool {
	m := compute.Migration{Server: s.ID, Source: h.Host, Created: at, Status: "error", Type: "live-migration"}
	isCold := s.Task != "migrating"
	if isCold {
		m.Type = compute.ColdMigration
	}
	j := slices.IndexFunc(n.hypervisors, func(h Hypervisor) bool { return h.Host == to })
	moved := j >= 0 && n.moveErrors[s.ID] == ""
	if moved {
		m.Status, m.Target, s.Task = "completed", to, ""
		if isCold {
			m.Status = "finished"
			n.confirmed[s.ID], s.Status = s.Status, "VERIFY_RESIZE"
			h.Consumers = append(slices.Clone(h.Consumers), "migration-of-"+s.ID)
		}
		n.hypervisors[j].Servers = append(slices.Clone(n.hypervisors[j].Servers), s)
	}
	h.Migrations = append(slices.Clone(h.Migrations), m)
	return moved
}

// move executes an operation on a server.
func (n *Nova) move(w http.ResponseWriter, r *http.Request, id string) {
	var body map[string]json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body) != 1 {
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Invalid input.")
		return
	}
	for name, argument := range body {
		n.operate(w, id, name, argument)
	}
}

// operations are the tasks of operations on servers, and the states in which Nova accepts them.
var operations = map[string]struct {
	task   string
	states []string
}{
	"os-migrateLive": {"migrating", []string{"ACTIVE", "PAUSED"}}, "migrate": {"resize_migrating", []string{"ACTIVE", "SHUTOFF"}},
	"os-stop": {"powering-off", []string{"ACTIVE", "ERROR"}}, "os-start": {"powering-on", []string{"SHUTOFF"}},
	"confirmResize": {"", []string{"VERIFY_RESIZE"}},
}

func (n *Nova) operate(w http.ResponseWriter, id, name string, argument json.RawMessage) {
	operation, known := operations[name]
	if !known || name == "os-migrateLive" && !isAutomatic(argument) || name != "os-migrateLive" && string(argument) != "null" {
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Invalid input.")
		return
	}
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		h.Servers = slices.Clone(h.Servers)
		for j := range h.Servers {
			s := &h.Servers[j]
			switch {
			case s.ID != id:
				continue
			case s.Task != "" || !slices.Contains(operation.states, s.Status) || n.rejected[id] != "":
				identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Cannot '"+name+"' instance "+id+" while it is so.")
				return
			}
			n.actions = append(n.actions, name+" "+id)
			if name == "os-migrateLive" {
				n.moves = append(n.moves, id)
			}
			if name == "confirmResize" {
				n.confirm(s)
				w.WriteHeader(http.StatusNoContent)
				return
			}
			s.Task = operation.task
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Instance "+id+" could not be found.")
}

// isAutomatic reports whether Nova selects the target and the kind of a live migration.
func isAutomatic(argument json.RawMessage) bool {
	var order struct {
		Host  *string `json:"host"`
		Block string  `json:"block_migration"`
	}
	return json.Unmarshal(argument, &order) == nil && order.Host == nil && order.Block == "auto"
}

// confirm completes the cold migration of a server: its source has no record of it anymore.
func (n *Nova) confirm(s *compute.Server) {
	s.Status = n.confirmed[s.ID]
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		h.Consumers = slices.DeleteFunc(slices.Clone(h.Consumers), func(c string) bool { return c == "migration-of-"+s.ID })
		h.Migrations = slices.Clone(h.Migrations)
		for j := range h.Migrations {
			if m := &h.Migrations[j]; m.Server == s.ID && m.Status == "finished" {
				m.Status = "confirmed"
			}
		}
	}
}

// RejectActions makes Nova reject all operations on a server.
func (n *Nova) RejectActions(id string, rejected bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	delete(n.rejected, id)
	if rejected {
		n.rejected[id] = "rejected"
	}
}

// serveActions serves the history of a server: its last migration has failed if FailMoves has set a message.
func (n *Nova) serveActions(w http.ResponseWriter, id string, request []string) {
	message := n.moveErrors[id]
	switch {
	case len(request) == 1:
		identitytest.Write(w, http.StatusOK, map[string]any{"instanceAction": map[string]any{
			"action": "live-migration", "events": []any{map[string]any{"details": nil}, map[string]any{"details": message}},
		}})
	case message == "":
		identitytest.Write(w, http.StatusOK, map[string]any{"instanceActions": []any{}})
	default:
		identitytest.Write(w, http.StatusOK, map[string]any{"instanceActions": []any{
			map[string]any{"action": "reboot", "request_id": "r3", "message": "Error", "start_time": "2003-01-01T00:00:00.000000"},
			map[string]any{"action": "live-migration", "request_id": "r2", "message": "Error", "start_time": "2002-01-01T00:00:00.000000"},
			map[string]any{"action": "migrate", "request_id": "r1", "message": "Error", "start_time": "2001-01-01T00:00:00.000000"},
			map[string]any{"action": "migrate", "request_id": "r4", "message": nil, "start_time": "2004-01-01T00:00:00.000000"},
		}})
	}
}

// disable enables or disables a host for servers.
func (n *Nova) disable(w http.ResponseWriter, r *http.Request, operation string) {
	var body struct {
		Host   string `json:"host"`
		Binary string `json:"binary"`
		Reason string `json:"disabled_reason"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	i := slices.IndexFunc(n.services, func(s compute.Service) bool { return s.Host == body.Host && s.Binary == body.Binary })
	switch {
	case err != nil || i < 0 || operation != "enable" && operation != "disable-log-reason":
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Host "+body.Host+" not found.")
		return
	case slices.Contains(n.unresponsiveHosts, body.Host):
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
		return
	}
	n.services = slices.Clone(n.services)
	n.services[i].Disabled, n.services[i].Reason = operation != "enable", body.Reason
	identitytest.Write(w, http.StatusOK, map[string]any{"service": map[string]any{"host": body.Host, "binary": body.Binary}})
}
