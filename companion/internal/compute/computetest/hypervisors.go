package computetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// Addresses of Placement and Neutron in Keystone's catalog.
const (
	placementAddress = "https://placement.cloud.svc:8778"
	neutronAddress   = "https://neutron.cloud.svc:9696"
)

// Hypervisor is the state of a hypervisor in Nova and Placement.
type Hypervisor struct {
	Host string
	// Servers on the host, with Details by ID, and Migrations from or to it.
	Servers    []compute.Server
	Details    map[string]Details
	Migrations []compute.Migration
	// Provider is its resource provider, Below are the children. Consumers are the consumers with allocations, without its
	// own servers.
	Provider  string
	Below     []string
	Consumers []string
	// Unallocated is set if its servers have no allocations, because they were lost.
	Unallocated bool
	// Inventories of the provider, by resource class.
	Inventories map[string]Inventory
	// Unreachable is set if Nova cannot delete the provider.
	Unreachable bool

	isRemoved bool
}

// Inventory is the inventory of a resource class, with the used amount.
type Inventory struct {
	Total, Reserved, Used int
	Ratio                 float64
}

// SetHypervisors replaces all hypervisors.
func (n *Nova) SetHypervisors(all ...Hypervisor) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.hypervisors = slices.Clone(all)
}

// Hypervisors returns all hypervisors.
func (n *Nova) Hypervisors() []Hypervisor {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.hypervisors)
}

// Agents returns all agents of Neutron.
func (n *Nova) Agents() []compute.Agent {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.agents)
}

// SetAgents replaces all agents of Neutron.
func (n *Nova) SetAgents(all ...compute.Agent) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.agents = slices.Clone(all)
}

// Leftovers lists the records of a host: its service, its resource providers and its agents, by ID.
func (n *Nova) Leftovers(host string) (out []string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, s := range n.services {
		if s.Host == host {
			out = append(out, "service "+s.ID)
		}
	}
	for i := range n.hypervisors {
		if h := &n.hypervisors[i]; h.Host == host {
			for _, p := range h.tree() {
				out = append(out, "provider "+p)
			}
		}
	}
	for _, a := range n.agents {
		if a.Host == host || strings.HasPrefix(a.ID, host) {
			out = append(out, "agent "+a.ID)
		}
	}
	return out
}

func (h *Hypervisor) tree() []string {
	if h.Provider == "" {
		return nil
	}
	return append([]string{h.Provider}, h.Below...)
}

// leave removes a host from Nova, as the deletion of its service does, and reports whether that is allowed.
// https://docs.openstack.org/api-ref/compute/#delete-compute-service
func (n *Nova) leave(w http.ResponseWriter, host string) bool {
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		if h.Host != host {
			continue
		}
		if len(h.Servers) > 0 {
			identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Unable to delete compute service that is hosting instances.")
			return false
		}
		if slices.ContainsFunc(h.Migrations, func(m compute.Migration) bool { return !m.IsFinished() }) {
			identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Unable to delete compute service that has in-progress migrations.")
			return false
		}
		h.isRemoved = true
		if len(h.Consumers) == 0 && !h.Unreachable {
			h.Provider, h.Below = "", nil
		}
	}
	return true
}

// serveHypervisors serves requests for hypervisors, servers and migrations, and reports whether the request was one.
func (n *Nova) serveHypervisors(w http.ResponseWriter, r *http.Request, path []string) bool {
	all, host := []any{}, r.URL.Query().Get("host")
	if slices.Contains(n.unresponsiveHosts, host) || slices.Contains(n.incompleteHosts, host) {
		host = ""
	}
	if path[0] == "os-server-groups" && len(path) == 2 {
		return n.serveGroup(w, path[1])
	}
	if path[0] == "servers" && path[len(path)-1] != "detail" {
		return n.serveServer(w, path[1:])
	}
	switch strings.Join(path, "/") {
	case "os-hypervisors/detail":
		if len(n.unresponsiveHosts) > 0 {
			identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
			return true
		}
		n.listHypervisors(w, r)
	case "servers/detail":
		for _, h := range n.on(host) {
			all = append(all, h.servers(r)...)
		}
		identitytest.Write(w, http.StatusOK, map[string]any{"servers": all})
	case "os-migrations":
		if len(n.unresponsiveHosts) > 0 && r.Header.Get("X-Openstack-Nova-Api-Version") != migrationsMicroversion {
			identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
			return true
		}
		for _, h := range n.on(host) {
			for _, m := range h.Migrations {
				all = append(all, m)
			}
		}
		identitytest.Write(w, http.StatusOK, map[string]any{"migrations": all})
	default:
		return path[0] == "os-hosts" && len(path) == 2 && n.serveHost(w, r, path[1])
	}
	return true
}

// serveServer serves a server or its history, and reports whether it exists.
func (n *Nova) serveServer(w http.ResponseWriter, path []string) bool {
	if len(path) > 1 && path[1] == "os-instance-actions" {
		n.serveActions(w, path[0], path[2:])
		return true
	}
	for _, h := range n.hypervisors {
		for _, s := range h.Servers {
			if len(path) == 1 && s.ID == path[0] && slices.Contains(n.unresponsiveHosts, h.Host) {
				identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
				return true
			}
			if len(path) == 1 && s.ID == path[0] {
				server := map[string]any{"id": s.ID, "name": s.Name, "status": s.Status, "OS-EXT-STS:task_state": s.Task,
					"OS-EXT-SRV-ATTR:host": h.Host}
				identitytest.Write(w, http.StatusOK, map[string]any{"server": server})
				return true
			}
		}
	}
	return false
}

const (
	// hostMicroversion is the microversion of requests about one host, for which Nova reads only its cell.
	hostMicroversion = "2.42"
	// migrationsMicroversion is the microversion with which Nova lists migrations while the database of a cell does not respond.
	migrationsMicroversion = "2.59"
)

// serveHost returns the resources of a host, and those of each project with servers on it. All servers are in one project.
func (n *Nova) serveHost(w http.ResponseWriter, r *http.Request, host string) bool {
	i := slices.IndexFunc(n.hypervisors, func(h Hypervisor) bool { return h.Host == host && !h.isRemoved })
	switch {
	case i < 0 || r.Header.Get("X-Openstack-Nova-Api-Version") != hostMicroversion:
		return false
	case slices.Contains(n.unresponsiveHosts, host):
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
		return true
	}
	resource := func(project string) any {
		return map[string]any{"resource": map[string]any{"host": host, "project": project, "cpu": 1, "memory_mb": 1, "disk_gb": 1}}
	}
	all := []any{resource("(total)"), resource("(used_now)"), resource("(used_max)")}
	if len(n.hypervisors[i].Servers) > 0 {
		all = append(all, resource("4f1a"))
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"host": all})
	return true
}

// listHypervisors returns a page of hypervisors. Its link has Nova's public address.
func (n *Nova) listHypervisors(w http.ResponseWriter, r *http.Request) {
	query, found := r.URL.Query(), []Hypervisor{}
	for _, h := range n.hypervisors {
		if !h.isRemoved && !slices.Contains(n.unresponsiveHosts, h.Host) {
			found = append(found, h)
		}
	}
	if marker := query.Get("marker"); marker != "" {
		i := slices.IndexFunc(found, func(h Hypervisor) bool { return h.Provider == marker })
		if i < 0 {
			identitytest.Fail(w, http.StatusBadRequest, "badRequest", "marker ["+marker+"] not found")
			return
		}
		found = found[i+1:]
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > 1000 {
		limit = 1000
	}
	out := map[string]any{}
	if len(found) > limit {
		found = found[:limit]
		query.Set("marker", found[limit-1].Provider)
		out["hypervisors_links"] = []any{map[string]any{
			"rel": "next", "href": "https://cloud.example.com/compute/v2.1/os-hypervisors/detail?" + query.Encode(),
		}}
	}
	all := []any{}
	for i := range found {
		all = append(all, found[i].detail(query.Get("with_servers") == "true"))
	}
	out["hypervisors"] = all
	identitytest.Write(w, http.StatusOK, out)
}

// on returns the hypervisors of a host.
func (n *Nova) on(host string) []Hypervisor {
	return slices.DeleteFunc(slices.Clone(n.hypervisors), func(h Hypervisor) bool { return h.Host != host })
}

// detail returns a hypervisor as listed by Nova. Microversion 2.53 returns servers only if there are any.
func (h *Hypervisor) detail(withServers bool) map[string]any {
	out := map[string]any{
		"id": h.Provider, "hypervisor_hostname": h.Host + ".example", "service": map[string]any{"host": h.Host, "id": "id-of-" + h.Host},
		"cpu_info": "", "hypervisor_version": 1, "free_disk_gb": 0, "local_gb": 0,
	}
	var servers []any
	for _, s := range h.Servers {
		servers = append(servers, map[string]any{"uuid": s.ID, "name": s.Name})
	}
	if withServers && len(servers) > 0 {
		out["servers"] = servers
	}
	return out
}

// servers returns the servers of all projects, if the request includes all tenants.
func (h *Hypervisor) servers(r *http.Request) (out []any) {
	if r.URL.Query().Get("all_tenants") != "true" {
		return nil
	}
	for _, s := range h.Servers {
		one := map[string]any{"id": s.ID, "name": s.Name, "status": s.Status, "OS-EXT-STS:task_state": nil}
		if s.Task != "" {
			one["OS-EXT-STS:task_state"] = s.Task
		}
		if r.Header.Get("X-Openstack-Nova-Api-Version") == detailsMicroversion {
			h.Details[s.ID].add(one)
		}
		out = append(out, one)
	}
	return out
}

// servePlacement serves requests for resource providers.
func (n *Nova) servePlacement(w http.ResponseWriter, r *http.Request) { //nolint:gocognit // one step after the other
	n.mutex.Lock()
	defer n.mutex.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	version := r.Header.Get("Openstack-Api-Version")
	if n.placementDown {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if version == "placement 1.27" && r.URL.Path == "/allocation_candidates" && r.URL.Query().Get("resources") == "MEMORY_MB:1" {
		n.serveCandidates(w, r)
		return
	}
	if !n.Keystone.Issued(r.Header.Get("X-Auth-Token")) || version != "placement 1.14" || path[0] != "resource_providers" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	for i := range n.hypervisors {
		h := &n.hypervisors[i]
		tree := h.tree()
		switch {
		case len(path) == 1 && slices.Contains(tree, r.URL.Query().Get("in_tree")):
			all := []any{}
			for _, p := range tree {
				one := map[string]any{"uuid": p, "name": "name of " + p, "root_provider_uuid": h.Provider, "parent_provider_uuid": nil}
				if p != h.Provider {
					one["parent_provider_uuid"] = h.Provider
				}
				all = append(all, one)
			}
			identitytest.Write(w, http.StatusOK, map[string]any{"resource_providers": all})
			return
		case len(path) < 2 || !slices.Contains(tree, path[1]):
			continue
		case r.Method == http.MethodGet && len(path) == 3 && path[2] == "allocations":
			identitytest.Write(w, http.StatusOK, map[string]any{"allocations": h.allocations(path[1])})
			return
		case r.Method == http.MethodGet && len(path) == 3:
			identitytest.Write(w, http.StatusOK, map[string]any{path[2]: h.inventories(path[1])[path[2]]})
			return
		case r.Method == http.MethodDelete && len(path) == 2:
			h.deleteProvider(w, path[1])
			return
		}
	}
	if len(path) == 1 {
		identitytest.Write(w, http.StatusOK, map[string]any{"resource_providers": []any{}})
		return
	}
	writeError(w, http.StatusNotFound, "No resource provider with uuid "+path[1]+" found")
}

// serveCandidates returns the providers with free memory.
func (n *Nova) serveCandidates(w http.ResponseWriter, r *http.Request) {
	if !n.Keystone.Issued(r.Header.Get("X-Auth-Token")) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	requests, summaries := []any{}, map[string]any{}
	for _, h := range n.hypervisors {
		if m := h.Inventories["MEMORY_MB"]; h.Provider == "" || m.capacity() <= m.Used {
			continue
		}
		requests = append(requests, map[string]any{
			"allocations": map[string]any{h.Provider: map[string]any{"resources": map[string]any{"MEMORY_MB": 1}}},
		})
		resources := map[string]any{}
		for class, i := range h.Inventories {
			resources[class] = map[string]any{"capacity": i.capacity(), "used": i.Used}
		}
		summaries[h.Provider] = map[string]any{"resources": resources, "traits": []string{"HW_CPU_X86_SSE"}}
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"allocation_requests": requests, "provider_summaries": summaries})
}

// capacity returns the allocatable amount.
func (i Inventory) capacity() int { return int(float64(i.Total-i.Reserved) * i.Ratio) }

func (h *Hypervisor) allocations(provider string) map[string]any {
	out := map[string]any{}
	if provider != h.Provider {
		return out
	}
	for _, s := range h.Servers {
		if !h.Unallocated {
			out[s.ID] = map[string]any{"resources": map[string]any{"VCPU": 1}}
		}
	}
	for _, c := range h.Consumers {
		out[c] = map[string]any{"resources": map[string]any{"VCPU": 1}}
	}
	return out
}

// inventories returns the inventories and usages of a provider.
func (h *Hypervisor) inventories(provider string) map[string]map[string]any {
	has, used := map[string]any{}, map[string]any{}
	if provider == h.Provider {
		for class, i := range h.Inventories {
			has[class] = map[string]any{"total": i.Total, "reserved": i.Reserved, "allocation_ratio": i.Ratio}
			used[class] = i.Used
		}
	}
	return map[string]map[string]any{"inventories": has, "usages": used}
}

func (h *Hypervisor) deleteProvider(w http.ResponseWriter, id string) {
	switch {
	case len(h.allocations(id)) > 0:
		writeError(w, http.StatusConflict, fmt.Sprintf("Unable to delete resource provider %s: Resource provider has allocations.  ", id))
	case id == h.Provider && len(h.Below) > 0:
		writeError(w, http.StatusConflict, fmt.Sprintf("Unable to delete parent resource provider %s: It has child resource providers.  ", id))
	case id == h.Provider:
		h.Provider = ""
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Below = slices.DeleteFunc(h.Below, func(b string) bool { return b == id })
		w.WriteHeader(http.StatusNoContent)
	}
}

// writeError writes an error in the format of Placement.
func writeError(w http.ResponseWriter, code int, detail string) {
	identitytest.Write(w, code, map[string]any{
		"errors": []any{map[string]any{"status": code, "title": http.StatusText(code), "detail": detail}},
	})
}

// serveNeutron serves requests for agents. With the first agent of a host, its chassis is deleted, so that the other agents
// no longer have a host.
func (n *Nova) serveNeutron(w http.ResponseWriter, r *http.Request) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	id, ok := strings.CutPrefix(r.URL.Path, "/v2.0/agents")
	switch {
	case r.URL.Path == "/v2.0/ports" && r.Method == http.MethodGet && n.Keystone.Issued(r.Header.Get("X-Auth-Token")):
		n.servePorts(w, r.URL.Query().Get("binding:host_id"))
	case !ok || !n.Keystone.Issued(r.Header.Get("X-Auth-Token")):
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet && id == "":
		all := []any{}
		for _, a := range n.agents {
			if host := r.URL.Query().Get("host"); host != "" && host != a.Host {
				continue
			}
			all = append(all, map[string]any{"id": a.ID, "agent_type": a.Type, "host": a.Host, "alive": a.Alive})
		}
		identitytest.Write(w, http.StatusOK, map[string]any{"agents": all})
	case r.Method == http.MethodDelete:
		n.removeAgent(w, strings.TrimPrefix(id, "/"))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (n *Nova) removeAgent(w http.ResponseWriter, id string) {
	i := slices.IndexFunc(n.agents, func(a compute.Agent) bool { return a.ID == id })
	if i < 0 {
		identitytest.Fail(w, http.StatusNotFound, "NeutronError", "Agent "+id+" could not be found")
		return
	}
	host := n.agents[i].Host
	n.agents = slices.Delete(slices.Clone(n.agents), i, i+1)
	for i := range n.agents {
		if n.agents[i].Host == host {
			n.agents[i].Host = `("Chassis" register deleted)`
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
