package computetest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
			if n.interrupted[s.ID] || n.isQueued(s.ID) {
				stay = append(stay, s)
				continue
			}
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
	var hanging []evacuation
	for _, e := range n.evacuations {
		count++
		if n.hanging[e.server] {
			n.setMigration(e, compute.Migration{Status: preMigrating, Target: to, Created: at})
			hanging = append(hanging, e)
			continue
		}
		n.endEvacuation(e, to, at)
	}
	n.evacuations = hanging
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

// evacuation is an accepted request to evacuate a server. Nova executes each one, even if another evacuation of the server has not ended,
// or has moved it (evacuate of nova/compute/api.py verifies no task).
type evacuation struct{ server, source string }

// Start is a guest that an evacuation has started.
type Start struct{ Server, Host string }

// SetClock sets the clock of migrations. Without one, evacuations have the time at which they end.
func (n *Nova) SetClock(now func() time.Time) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.now = now
}

// FailStarts makes evacuations of a server fail after they have started its guest on the target. Nova does not destroy the guest.
func (n *Nova) FailStarts(id string, fail bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.failingStarts == nil {
		n.failingStarts = map[string]bool{}
	}
	n.failingStarts[id] = fail
}

// FailClaims makes evacuations of a server fail because the target has not enough free resources. Its status does not change.
func (n *Nova) FailClaims(id string, fail bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.failingClaims == nil {
		n.failingClaims = map[string]bool{}
	}
	n.failingClaims[id] = fail
}

// HangMoves makes evacuations of a server take forever, with a target.
func (n *Nova) HangMoves(id string, hang bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.hanging == nil {
		n.hanging = map[string]bool{}
	}
	n.hanging[id] = hang
}

// SetStalled makes Nova execute requests to evacuate servers after their clients have stopped waiting: when it is set to false.
func (n *Nova) SetStalled(stalled bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.isStalled = stalled
	if stalled {
		return
	}
	for _, e := range n.stalled {
		n.acceptEvacuation(e)
	}
	n.stalled = nil
}

// QueueStart accepts a request to start a server whose host does not run. It stays in the queue of the host, whose nova-compute executes it
// when it starts, also if the server has another task or another host then (start_instance of nova/compute/manager.py).
func (n *Nova) QueueStart(id string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if h, s := n.find(id); s != nil {
		s.Task = "powering-on"
		n.queued = append(n.queued, Start{id, h.Host})
	}
}

// DeleteQueue deletes the queue of a host, with the requests.
func (n *Nova) DeleteQueue(host string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.queued = slices.DeleteFunc(n.queued, func(s Start) bool { return s.Host == host })
}

func (n *Nova) isQueued(id string) bool {
	return slices.ContainsFunc(n.queued, func(s Start) bool { return s.Server == id })
}

// InterruptMigration starts the live migration of a server, whose source fails after the guest runs on the target, and before Nova has
// recorded it.
func (n *Nova) InterruptMigration(id, target string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	h, s := n.find(id)
	s.Task = "migrating"
	m := compute.Migration{Server: id, Status: "running", Type: "live-migration", Source: h.Host, Target: target}
	if n.now != nil {
		m.Created = n.now().UTC().Format(createdLayout)
	}
	h.Migrations = append(slices.Clone(h.Migrations), m)
	if n.interrupted == nil {
		n.interrupted = map[string]bool{}
	}
	n.interrupted[id] = true
}

// TakeStarts returns the guests that evacuations have started since the last call.
func (n *Nova) TakeStarts() []Start {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	out := n.starts
	n.starts = nil
	return out
}

// find returns the hypervisor and the record of a server; nil if it does not exist.
func (n *Nova) find(id string) (*Hypervisor, *compute.Server) {
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		for j := range h.Servers {
			if h.Servers[j].ID == id {
				h.Servers = slices.Clone(h.Servers)
				return h, &h.Servers[j]
			}
		}
	}
	return nil, nil
}

// acceptEvacuation sets the task of a server, and creates the migration.
func (n *Nova) acceptEvacuation(e evacuation) {
	n.actions = append(n.actions, "evacuate "+e.server)
	if _, s := n.find(e.server); s != nil {
		s.Task = "rebuilding"
	}
	n.evacuations = append(n.evacuations, e)
	if n.now != nil {
		n.setMigration(e, compute.Migration{Status: "accepted", Created: n.now().UTC().Format(createdLayout)})
	}
}

// createdLayout is the layout of the times of migrations.
const createdLayout = "2006-01-02T15:04:05.000000"

// preMigrating is the status of an evacuation whose target has reserved its resources.
const preMigrating = "pre-migrating"

// setMigration creates the migration of an evacuation, or changes its status. It keeps its time. The source of an evacuation may have
// completed the migration while the target continues.
func (n *Nova) setMigration(e evacuation, m compute.Migration) {
	m.Server, m.Source, m.Type = e.server, e.source, compute.Evacuation
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		if h.Host != e.source {
			continue
		}
		h.Migrations = slices.Clone(h.Migrations)
		j := n.migrationOf(e, h.Migrations)
		if j < 0 || m.Status == "accepted" {
			h.Migrations = append(h.Migrations, m)
			return
		}
		if m.Status == preMigrating && h.Migrations[j].Status != "accepted" { // It has this status since its claim.
			return
		}
		m.Created, m.Target = h.Migrations[j].Created, cmp.Or(h.Migrations[j].Target, m.Target)
		h.Migrations[j] = m
	}
}

// migrationOf returns the index of the migration of an evacuation: the first one that is not finished, or else the last one; -1 without
// one.
func (n *Nova) migrationOf(e evacuation, migrations []compute.Migration) int {
	last := -1
	for i, m := range migrations {
		isOf := m.Server == e.server && m.Type == compute.Evacuation
		if isOf && !m.IsFinished() {
			return i
		}
		if isOf && n.now != nil { // Each evacuation has a migration.
			last = i
		}
	}
	return last
}

// endEvacuation ends an evacuation. An evacuated server keeps its power state, except for one in ERROR, which is started.
func (n *Nova) endEvacuation(e evacuation, to, at string) {
	h, s := n.find(e.server)
	if s == nil {
		return
	}
	if h.Host == to { // Another evacuation has moved it. The scheduler selects any other host.
		to = ""
		for _, o := range n.services {
			if o.Host != h.Host && o.Host != e.source && n.isUp(o.Host) {
				to = o.Host
			}
		}
	}
	j := slices.IndexFunc(n.hypervisors, func(h Hypervisor) bool { return h.Host == to })
	s.Task = ""
	switch {
	case j < 0 || to == e.source || n.moveErrors[s.ID] != "": // NoValidHost
		s.Status = "ERROR"
		n.setMigration(e, compute.Migration{Status: "error", Created: at})
		return
	case n.failingClaims[s.ID]:
		n.setMigration(e, compute.Migration{Status: "failed", Target: to, Created: at})
		return
	case n.failingStarts[s.ID]:
		s.Status = "ERROR"
		n.setMigration(e, compute.Migration{Status: "failed", Target: to, Created: at})
		n.starts = append(n.starts, Start{s.ID, to})
		return
	case s.Status != "SHUTOFF":
		s.Status = "ACTIVE"
	}
	n.starts = append(n.starts, Start{s.ID, to}) // A stopped server is started, and then stopped.
	n.setMigration(e, compute.Migration{Status: "done", Target: to, Created: at})
	moved := *s
	h.Servers = slices.DeleteFunc(slices.Clone(h.Servers), func(o compute.Server) bool { return o.ID == moved.ID })
	n.hypervisors[j].Servers = append(slices.Clone(n.hypervisors[j].Servers), moved)
}

// move executes an operation on a server.
func (n *Nova) move(w http.ResponseWriter, r *http.Request, id string) {
	var body map[string]json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body) != 1 {
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Invalid input.")
		return
	}
	for name, argument := range body {
		if name == "evacuate" && before(r.Header.Get("X-Openstack-Nova-Api-Version"), stoppedMicroversion) {
			argument = json.RawMessage("null")
		}
		n.operate(w, id, name, argument)
	}
}

// stoppedMicroversion is the first with which evacuated servers are stopped.
const stoppedMicroversion = 95

// before reports whether a microversion is before 2.minor.
func before(version string, minor int) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(version, "2."))
	return err == nil && number < minor
}

// operations are the tasks of operations on servers, and the states in which Nova accepts them.
var operations = map[string]struct {
	task   string
	states []string
}{
	"os-migrateLive": {"migrating", []string{"ACTIVE", "PAUSED"}}, "migrate": {"resize_migrating", []string{"ACTIVE", "SHUTOFF"}},
	"os-stop": {"powering-off", []string{"ACTIVE", "ERROR"}}, "os-start": {"powering-on", []string{"SHUTOFF"}},
	"confirmResize": {"", []string{"VERIFY_RESIZE"}}, "evacuate": {"rebuilding", []string{"ACTIVE", "SHUTOFF", "ERROR"}},
}

func (n *Nova) operate(w http.ResponseWriter, id, name string, argument json.RawMessage) {
	operation, known := operations[name]
	if !known || name == "os-migrateLive" && !isAutomatic(argument) || name != "os-migrateLive" && string(argument) != "null" {
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Invalid input.")
		return
	}
	h, s := n.find(id)
	switch {
	case s == nil:
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Instance "+id+" could not be found.")
	case s.Task != "" && name != "evacuate" || !slices.Contains(operation.states, s.Status) || n.rejected[id] != "":
		identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Cannot '"+name+"' instance "+id+" while it is so.")
	case name == "evacuate" && n.isUp(h.Host):
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Compute service of "+h.Host+" is still in use.")
	case name == "evacuate":
		n.evacuate(w, evacuation{id, h.Host})
	default:
		n.execute(w, s, name, operation.task)
	}
}

// execute accepts an operation on a server.
func (n *Nova) execute(w http.ResponseWriter, s *compute.Server, name, task string) {
	n.actions = append(n.actions, name+" "+s.ID)
	if name == "os-migrateLive" {
		n.moves = append(n.moves, s.ID)
	}
	if name == "confirmResize" {
		n.confirm(s)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.Task = task
	w.WriteHeader(http.StatusAccepted)
}

// evacuate accepts a request, or stalls.
func (n *Nova) evacuate(w http.ResponseWriter, e evacuation) {
	if n.isStalled {
		n.stalled, n.isLost = append(n.stalled, e), true
		return
	}
	n.acceptEvacuation(e)
	w.WriteHeader(http.StatusOK)
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

// isUp reports whether Nova regards a host as up.
func (n *Nova) isUp(host string) bool {
	return slices.ContainsFunc(n.services, func(s compute.Service) bool {
		return s.Host == host && s.Binary == compute.Compute && s.Up && !s.ForcedDown
	})
}

// mayReturn reports whether nova-compute has deleted the guests that were evacuated from a host.
func (n *Nova) mayReturn(host string) bool {
	for _, h := range n.on(host) {
		if slices.ContainsFunc(h.Migrations, func(m compute.Migration) bool { return m.Type == compute.Evacuation && m.Status == "done" }) {
			return false
		}
	}
	return true
}

// CleanUp starts nova-compute of a host. It deletes the guests that are evacuated, and completes their migrations, even if the target has
// not started them yet (_destroy_evacuated_instances of nova/compute/manager.py). Servers with such a task and no migration get the status
// ERROR (_init_instance): at the second start, those whose evacuations have not ended. It aborts live migrations that were interrupted, and
// executes the requests in its queue.
func (n *Nova) CleanUp(host string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		if h.Host != host {
			continue
		}
		h.Migrations, h.Servers = slices.Clone(h.Migrations), slices.Clone(h.Servers)
		n.cleanUpServers(h, n.cleanUpMigrations(h))
	}
	for _, s := range n.queued {
		if s.Host == host {
			n.starts = append(n.starts, s)
		}
	}
	n.queued = slices.DeleteFunc(n.queued, func(s Start) bool { return s.Host == host })
}

// cleanUpMigrations completes the evacuations from a host, aborts its interrupted live migrations, and returns the evacuated servers.
func (n *Nova) cleanUpMigrations(h *Hypervisor) map[string]bool {
	evacuated := map[string]bool{}
	for j := range h.Migrations {
		m := &h.Migrations[j]
		if m.Source != h.Host {
			continue
		}
		if m.Type == compute.Evacuation && slices.Contains([]string{"accepted", preMigrating, "done"}, m.Status) {
			m.Status, evacuated[m.Server] = "completed", true
		}
		if m.Status == "running" && n.interrupted[m.Server] {
			m.Status = "error"
			if n.now != nil {
				m.Updated = n.now().UTC().Format(createdLayout)
			}
		}
	}
	return evacuated
}

// cleanUpServers ends the tasks of the servers of a host that nova-compute finds when it starts.
func (n *Nova) cleanUpServers(h *Hypervisor, evacuated map[string]bool) {
	for j := range h.Servers {
		s := &h.Servers[j]
		if strings.HasPrefix(s.Task, "rebuild") && slices.Contains([]string{"ACTIVE", "SHUTOFF"}, s.Status) && !evacuated[s.ID] {
			s.Status, s.Task = "ERROR", ""
		}
		if n.interrupted[s.ID] {
			s.Task = ""
			delete(n.interrupted, s.ID)
		}
		if s.Task == "powering-on" {
			s.Status, s.Task = "ACTIVE", ""
		}
	}
}

// disable enables or disables a host for servers, or declares it failed.
func (n *Nova) disable(w http.ResponseWriter, r *http.Request, operation string) {
	var body struct {
		Host   string `json:"host"`
		Binary string `json:"binary"`
		Reason string `json:"disabled_reason"`
		Forced bool   `json:"forced_down"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	i := slices.IndexFunc(n.services, func(s compute.Service) bool { return s.Host == body.Host && s.Binary == body.Binary })
	switch {
	case err != nil || i < 0 || !slices.Contains([]string{"enable", "disable-log-reason", "force-down"}, operation):
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Host "+body.Host+" not found.")
		return
	case slices.Contains(n.unresponsiveHosts, body.Host):
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
		return
	}
	n.services = slices.Clone(n.services)
	if operation == "force-down" { // As a real Nova, it accepts the return of a host before its guests were deleted.
		n.services[i].ForcedDown = body.Forced
		identitytest.Write(w, http.StatusOK, map[string]any{"service": map[string]any{"host": body.Host, "binary": body.Binary}})
		return
	}
	n.services[i].Disabled, n.services[i].Reason = operation != "enable", body.Reason
	identitytest.Write(w, http.StatusOK, map[string]any{"service": map[string]any{"host": body.Host, "binary": body.Binary}})
}

// update declares the return of a host. Nova searches one cell after the other for the record, and fails if the database of one does not
// respond.
func (n *Nova) update(w http.ResponseWriter, r *http.Request, id string) {
	var body struct {
		Forced *bool `json:"forced_down"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	i := slices.IndexFunc(n.services, func(s compute.Service) bool { return s.ID == id })
	switch {
	case len(n.unresponsiveHosts) > 0:
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
		return
	case err != nil || i < 0 || body.Forced == nil:
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Service "+id+" not found.")
		return
	case !*body.Forced && !n.mayReturn(n.services[i].Host):
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Unable to force up host "+n.services[i].Host+".")
		return
	}
	n.services = slices.Clone(n.services)
	n.services[i].ForcedDown = *body.Forced
	identitytest.Write(w, http.StatusOK, map[string]any{"service": map[string]any{"id": id, "forced_down": *body.Forced}})
}
