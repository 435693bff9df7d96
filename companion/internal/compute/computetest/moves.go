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

// End ends the migrations in progress: the servers move to the given host, or stay if it is "". It returns their number.
func (n *Nova) End(to, at string) (count int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		var stay []compute.Server
		for _, s := range h.Servers {
			if s.Task != "migrating" {
				stay = append(stay, s)
				continue
			}
			count++
			s.Task = ""
			m := compute.Migration{Server: s.ID, Source: h.Host, Created: at, Status: "error"}
			if to == "" {
				stay = append(stay, s)
			} else {
				m.Status = "completed"
				j := slices.IndexFunc(n.hypervisors, func(h Hypervisor) bool { return h.Host == to })
				n.hypervisors[j].Servers = append(slices.Clone(n.hypervisors[j].Servers), s)
			}
			h.Migrations = append(slices.Clone(h.Migrations), m)
		}
		h.Servers = stay
	}
	return count
}

// move starts a migration.
func (n *Nova) move(w http.ResponseWriter, r *http.Request, id string) {
	var body struct {
		Order *struct {
			Host  *string `json:"host"`
			Block string  `json:"block_migration"`
		} `json:"os-migrateLive"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Order == nil || body.Order.Host != nil || body.Order.Block != "auto" {
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
			case s.Task != "" || s.Status != "ACTIVE" && s.Status != "PAUSED":
				identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Cannot 'os-migrateLive' instance "+id+" while it is so.")
				return
			}
			s.Task, n.moves = "migrating", append(n.moves, id)
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Instance "+id+" could not be found.")
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
