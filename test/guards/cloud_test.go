package guards

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"
)

// Addresses in Keystone's catalog.
const (
	identityAddress  = "https://keystone.test/v3"
	computeAddress   = "https://nova.test/v2.1"
	placementAddress = "https://placement.test"
	networkAddress   = "https://neutron.test"
)

// Sizes of pages. They are smaller than in reality, so that lists have several of them.
const hypervisorsPerPage, serversPerPage = 2, 1

// Microversions of requests that Nova serves while the database of a cell does not respond.
const hostMicroversion, migrationsMicroversion = "2.42", "2.59"

// cells is the number of cells.
const cells = 2

// memoryPerServer and memoryPerNode allow three servers on a node.
const memoryPerServer, memoryPerNode = 1024, 3 * memoryPerServer

// cloud is a model of Nova with cells, of Placement, and of Neutron. A server is scheduled in one step: its allocation exists as soon as
// Nova has selected the host.
type cloud struct {
	now      func() time.Time
	computes map[string]*computeService // by host
	// providers are the hosts of resource providers.
	providers map[string]string
	servers   map[string]*server
	history   []migration
	created   int
	// Components that do not respond. While a cell is down, lists of services, servers and migrations succeed without its records. Requests
	// for which Nova reads one cell after the other fail.
	novaDown, placementDown bool
	cellDown                map[int]bool
	// cellDownAt is the time at which the database of a cell last stopped or started to respond.
	cellDownAt time.Time
	// pick selects one of n candidates.
	pick func(n int) int
	// isStaleEnable reports whether the node of a host may not have been cordoned when a companion decided to enable its service. Nova has
	// no precondition by which it could reject a request that arrives late.
	isStaleEnable func(host string) bool
	// deleted is called after the records of a host are deleted.
	deleted func(host string)
}

// computeService is the record of a nova-compute, with the record of its hypervisor.
type computeService struct {
	id, host, provider string
	cell               int
	up, disabled       bool
	reason             string
	// enabledAt is the time at which the service was last created, or enabled by a user or by a late request of a companion.
	enabledAt time.Time
}

// server is a server with the hosts on which it is, or to which it can still move.
type server struct {
	id, host string
	// target is the host on which it is being created, or to which it is migrating.
	target string
	// origin is the host to which it returns if its resize is reverted.
	origin string
	// resizes is set if the current migration is a resize.
	resizes bool
	// scheduled is the time at which Nova selected a host for it.
	scheduled map[string]time.Time
}

// migration is a finished migration.
type migration struct{ server, source, target, status, created string }

func newCloud(now func() time.Time, pick func(n int) int) *cloud {
	return &cloud{
		now: now, pick: pick, computes: map[string]*computeService{}, providers: map[string]string{}, servers: map[string]*server{},
		cellDown: map[int]bool{},
	}
}

// hosts returns the hosts on which a server is or can still arrive without being scheduled again.
func (s *server) hosts() []string {
	return slices.DeleteFunc([]string{s.host, s.target, s.origin}, func(h string) bool { return h == "" })
}

// allocations returns the number of allocations on a host: of servers, and of migrations from it.
func (c *cloud) allocations(host string) (n int) {
	for _, s := range c.servers {
		if slices.Contains(s.hosts(), host) {
			n++
		}
	}
	return n
}

// register is the start of a nova-compute: it creates its records unless they exist.
func (c *cloud) register(host string, cell int) {
	s := c.computes[host]
	if s == nil {
		c.created++
		s = &computeService{
			id: fmt.Sprintf("service-%d", c.created), host: host, provider: fmt.Sprintf("provider-%d", c.created), cell: cell, enabledAt: c.now(),
		}
		c.computes[host], c.providers[s.provider] = s, host
	}
	s.up = true
}

// schedule returns a host for a server, as Nova's scheduler selects it; nil if none is valid.
func (c *cloud) schedule(valid func(*computeService) bool) *computeService {
	var out []*computeService
	for _, host := range slices.Sorted(maps.Keys(c.computes)) {
		s := c.computes[host]
		if s.up && !s.disabled && !c.cellDown[s.cell] && (c.allocations(host)+1)*memoryPerServer <= memoryPerNode && valid(s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[c.pick(len(out))]
}

// boot schedules a new server.
func (c *cloud) boot() {
	if on := c.schedule(func(*computeService) bool { return true }); on != nil {
		c.created++
		s := &server{id: fmt.Sprintf("server-%d", c.created), target: on.host, scheduled: map[string]time.Time{on.host: c.now()}}
		c.servers[s.id] = s
	}
}

// migrate starts a live migration or a resize, and reports whether a host was found.
func (c *cloud) migrate(s *server, resizes bool) bool {
	if s.host == "" || s.target != "" || s.origin != "" {
		return false
	}
	cell := c.computes[s.host].cell
	to := c.schedule(func(other *computeService) bool { return other.cell == cell && other.host != s.host })
	if to != nil {
		s.target, s.resizes, s.scheduled[to.host] = to.host, resizes, c.now()
	}
	return to != nil
}

// proceed completes the creation, the migration, or the resize of a server, successfully or not.
func (c *cloud) proceed(s *server, ok bool) {
	for _, host := range s.hosts() {
		switch service := c.computes[host]; {
		case service == nil && s.host == "":
			ok = false
		case service == nil || c.cellDown[service.cell]:
			return // The result cannot be recorded.
		}
	}
	record := func(status string) {
		c.history = append(c.history, migration{s.id, s.host, s.target, status, c.now().UTC().Format("2006-01-02T15:04:05.000000")})
	}
	switch {
	case s.origin != "" && ok:
		s.origin = ""
	case s.origin != "":
		s.host, s.origin = s.origin, ""
	case s.target == "":
	case s.host == "" && ok:
		s.host, s.target = s.target, ""
	case s.host == "":
		delete(c.servers, s.id)
	case !ok:
		record("error")
		s.target = ""
	case s.resizes:
		s.host, s.target, s.origin = s.target, "", s.host
	default:
		record("completed")
		s.host, s.target = s.target, ""
	}
}

// serve serves a request of a companion.
func (c *cloud) serve(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	url := r.URL.Scheme + "://" + r.URL.Host
	switch {
	case strings.HasPrefix(identityAddress, url):
		login(w)
	case strings.HasPrefix(computeAddress, url):
		c.serveNova(w, r)
	case url == placementAddress:
		c.servePlacement(w, r)
	default:
		write(w, map[string]any{"agents": []any{}})
	}
	out := w.Result()
	out.Request = r
	return out
}

func write(w http.ResponseWriter, body any) {
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

// login issues a token.
func login(w http.ResponseWriter) {
	var catalog []any
	for kind, address := range map[string]string{"compute": computeAddress, "placement": placementAddress, "network": networkAddress} {
		catalog = append(catalog, map[string]any{"type": kind, "name": kind, "id": kind, "endpoints": []any{map[string]any{
			"id": kind, "interface": "internal", "region": "RegionOne", "region_id": "RegionOne", "url": address,
		}}})
	}
	domain := map[string]any{"id": "default", "name": "Default"}
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	write(w, map[string]any{"token": map[string]any{
		"methods": []string{"password"}, "catalog": catalog, "roles": []any{map[string]any{"id": "admin", "name": "admin"}},
		"issued_at": "2026-03-02T12:00:00.000000Z", "expires_at": "2036-03-02T13:00:00.000000Z",
		"user":    map[string]any{"id": "admin", "name": "admin", "domain": domain},
		"project": map[string]any{"id": "admin", "name": "admin", "domain": domain},
	}})
}

// serveNova serves a request to Nova.
func (c *cloud) serveNova(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2.1/"), "/")
	query, version := r.URL.Query(), r.Header.Get("X-Openstack-Nova-Api-Version")
	switch operation := r.Method + " " + path[0]; {
	case c.novaDown:
		w.WriteHeader(http.StatusServiceUnavailable)
	case operation == "GET os-hosts" && version == hostMicroversion:
		c.serveHost(w, path[1])
	case operation == "PUT os-services" && version == hostMicroversion:
		c.changeService(w, r, path[1])
	case operation == "GET os-hypervisors" && c.isAnyCellDown(),
		operation == "GET os-migrations" && version != migrationsMicroversion && c.isAnyCellDown():
		w.WriteHeader(http.StatusInternalServerError)
	case operation == "GET os-services":
		write(w, map[string]any{"services": c.listServices()})
	case operation == "GET os-hypervisors":
		page(w, r, "hypervisors", c.listHypervisors(), hypervisorsPerPage)
	case operation == "GET servers":
		page(w, r, "servers", c.listServers(query.Get("host")), serversPerPage)
	case operation == "GET os-migrations":
		write(w, map[string]any{"migrations": c.listMigrations(query.Get("host"))})
	case operation == "POST servers":
		s := c.servers[path[1]]
		if s == nil || c.isCellDown(s.host) || !c.migrate(s, false) {
			w.WriteHeader(http.StatusConflict)
			write(w, map[string]any{"conflictingRequest": map[string]any{"message": "no valid host"}})
			return
		}
		w.WriteHeader(http.StatusAccepted)
	case operation == "DELETE os-services":
		c.deleteService(w, path[1])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// isAnyCellDown reports whether the database of a cell does not respond.
func (c *cloud) isAnyCellDown() bool {
	return slices.Contains(slices.Collect(maps.Values(c.cellDown)), true)
}

// serveHost writes the resources of a host, and those of each project with servers on it.
func (c *cloud) serveHost(w http.ResponseWriter, host string) {
	switch s := c.computes[host]; {
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case c.cellDown[s.cell]:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	all := []any{}
	for _, project := range []string{"(total)", "(used_now)", "(used_max)", "project"} {
		isUsed := func(s *server) bool { return s.host == host }
		if project != "project" || slices.ContainsFunc(slices.Collect(maps.Values(c.servers)), isUsed) {
			all = append(all, map[string]any{"resource": map[string]any{"host": host, "project": project}})
		}
	}
	write(w, map[string]any{"host": all})
}

// changeService enables or disables the service of a host. Nova reads only its cell.
func (c *cloud) changeService(w http.ResponseWriter, r *http.Request, operation string) {
	var body struct {
		Host   string `json:"host"`
		Reason string `json:"disabled_reason"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	switch s := c.computes[body.Host]; {
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
	case c.cellDown[s.cell]:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		if s.disabled, s.reason = operation == "disable-log-reason", body.Reason; !s.disabled && c.isStaleEnable(s.host) {
			s.enabledAt = c.now()
		}
		write(w, map[string]any{"service": map[string]any{"host": s.host}})
	}
}

// deleteService deletes a service. Nova searches it in one cell after the other.
func (c *cloud) deleteService(w http.ResponseWriter, id string) {
	for cell := range cells {
		if c.cellDown[cell] {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		for host, s := range c.computes {
			if s.id != id || s.cell != cell {
				continue
			}
			for _, o := range c.servers {
				if slices.Contains(o.hosts(), host) && (o.host != "" || o.origin != "") {
					w.WriteHeader(http.StatusConflict)
					return
				}
			}
			delete(c.computes, host)
			c.deleted(host)
			if c.allocations(host) == 0 {
				delete(c.providers, s.provider)
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// isCellDown reports whether the database of a host's cell does not respond.
func (c *cloud) isCellDown(host string) bool {
	s := c.computes[host]
	return s != nil && c.cellDown[s.cell]
}

// sorted returns the services in the order of their hosts.
func (c *cloud) sorted() (out []*computeService) {
	for _, host := range slices.Sorted(maps.Keys(c.computes)) {
		out = append(out, c.computes[host])
	}
	return out
}

func (c *cloud) listServices() []any {
	out := []any{}
	for _, s := range c.sorted() {
		one := map[string]any{"binary": "nova-compute", "host": s.host, "status": "UNKNOWN"}
		if !c.cellDown[s.cell] {
			one["id"], one["disabled_reason"] = s.id, s.reason
			one["status"] = map[bool]string{true: "disabled", false: "enabled"}[s.disabled]
			one["state"] = map[bool]string{true: "up", false: "down"}[s.up]
		}
		out = append(out, one)
	}
	return out
}

func (c *cloud) listHypervisors() (out []map[string]any) {
	for _, s := range c.sorted() {
		on := []any{}
		for _, id := range slices.Sorted(maps.Keys(c.servers)) {
			if c.servers[id].host == s.host {
				on = append(on, map[string]any{"uuid": id, "name": id})
			}
		}
		out = append(out, map[string]any{"id": s.provider, "service": map[string]any{"host": s.host, "id": s.id}, "servers": on})
	}
	return out
}

func (c *cloud) listServers(host string) (out []map[string]any) {
	for _, id := range slices.Sorted(maps.Keys(c.servers)) {
		s := c.servers[id]
		if s.host != host || c.isCellDown(host) {
			continue
		}
		one := map[string]any{"id": id, "name": id, "status": "ACTIVE", "OS-EXT-STS:task_state": nil}
		switch {
		case s.origin != "":
			one["status"] = "VERIFY_RESIZE"
		case s.target != "" && s.resizes:
			one["OS-EXT-STS:task_state"] = "resize_migrating"
		case s.target != "":
			one["OS-EXT-STS:task_state"] = "migrating"
		}
		out = append(out, one)
	}
	return out
}

func (c *cloud) listMigrations(host string) []any {
	all := slices.Clone(c.history)
	for _, id := range slices.Sorted(maps.Keys(c.servers)) {
		switch s := c.servers[id]; {
		case s.origin != "":
			all = append(all, migration{id, s.origin, s.host, "finished", ""})
		case s.host != "" && s.target != "":
			all = append(all, migration{id, s.host, s.target, "running", ""})
		}
	}
	out := []any{}
	for _, m := range all {
		if (m.source == host || m.target == host) && !c.isCellDown(host) {
			out = append(out, map[string]any{
				"instance_uuid": m.server, "status": m.status, "source_compute": m.source, "dest_compute": m.target, "created_at": m.created,
			})
		}
	}
	return out
}

// page writes a page of a list, whose link has the public address of the service.
func page(w http.ResponseWriter, r *http.Request, key string, all []map[string]any, limit int) {
	query := r.URL.Query()
	if marker := query.Get("marker"); marker != "" {
		i := slices.IndexFunc(all, func(o map[string]any) bool { return o["id"] == marker })
		if i < 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		all = all[i+1:]
	}
	out := map[string]any{}
	if len(all) > limit {
		all = all[:limit]
		query.Set("marker", fmt.Sprint(all[limit-1]["id"]))
		out[key+"_links"] = []any{map[string]any{"rel": "next", "href": "https://cloud.example.com/compute" + r.URL.Path + "?" + query.Encode()}}
	}
	if all == nil {
		all = []map[string]any{}
	}
	out[key] = all
	write(w, out)
}

// servePlacement serves a request to Placement.
func (c *cloud) servePlacement(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	provider := r.URL.Query().Get("in_tree")
	if len(path) > 1 {
		provider = path[1]
	}
	host, known := c.providers[provider]
	used := c.allocations(host) * memoryPerServer
	switch {
	case c.placementDown:
		w.WriteHeader(http.StatusServiceUnavailable)
	case path[0] == "allocation_candidates":
		summaries := map[string]any{}
		for id, host := range c.providers {
			if used := c.allocations(host) * memoryPerServer; used < memoryPerNode {
				summaries[id] = map[string]any{"resources": map[string]any{"MEMORY_MB": map[string]any{"capacity": memoryPerNode, "used": used}}}
			}
		}
		write(w, map[string]any{"allocation_requests": []any{}, "provider_summaries": summaries})
	case len(path) == 1:
		list := []any{}
		if known {
			list = append(list, map[string]any{"uuid": provider, "name": host, "root_provider_uuid": provider, "parent_provider_uuid": nil})
		}
		write(w, map[string]any{"resource_providers": list})
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete && used > 0:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodDelete:
		delete(c.providers, provider)
		w.WriteHeader(http.StatusNoContent)
	case path[2] == "allocations":
		all := map[string]any{}
		for i := range c.allocations(host) {
			all[fmt.Sprintf("consumer-%d", i)] = map[string]any{"resources": map[string]any{"MEMORY_MB": memoryPerServer}}
		}
		write(w, map[string]any{"allocations": all})
	case path[2] == "inventories":
		write(w, map[string]any{"inventories": map[string]any{"MEMORY_MB": map[string]any{
			"total": memoryPerNode, "reserved": 0, "allocation_ratio": 1.0, "min_unit": 1, "max_unit": memoryPerNode, "step_size": 1,
		}}})
	default:
		write(w, map[string]any{"usages": map[string]any{"MEMORY_MB": used}})
	}
}
