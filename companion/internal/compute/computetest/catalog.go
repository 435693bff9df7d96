package computetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// catalogMicroversion is the microversion of requests for flavors and aggregates.
const catalogMicroversion = "2.86"

// SetFlavors replaces all flavors.
func (n *Nova) SetFlavors(all ...common.Flavor) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.flavors = slices.Clone(all)
}

// Flavors returns all flavors, sorted by name.
func (n *Nova) Flavors() []common.Flavor {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.SortedFunc(slices.Values(n.flavors), func(a, b common.Flavor) int { return compareNames(a.Name, b.Name) })
}

// SetAggregates replaces all aggregates.
func (n *Nova) SetAggregates(all ...compute.Aggregate) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.aggregates = slices.Clone(all)
}

// Aggregates returns all aggregates, sorted by name.
func (n *Nova) Aggregates() []compute.Aggregate {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.SortedFunc(slices.Values(n.aggregates), func(a, b compute.Aggregate) int { return compareNames(a.Name, b.Name) })
}

// Pin marks a host as having servers that were created in its zone, so that it cannot leave the zone.
func (n *Nova) Pin(host string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.pinned = append(n.pinned, host)
}

func compareNames(a, b string) int { return strings.Compare(a, b) }

// catalog serves requests for flavors and aggregates, and reports whether the request was one.
func (n *Nova) catalog(w http.ResponseWriter, r *http.Request, path []string) bool {
	if r.Header.Get("X-Openstack-Nova-Api-Version") != catalogMicroversion {
		return false
	}
	var body map[string]json.RawMessage
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&body) // An invalid body is treated as empty.
	}
	switch path[0] {
	case "flavors":
		n.serveFlavors(w, r, path[1:], body)
	case "os-aggregates":
		n.serveAggregates(w, r, path[1:], body)
	default:
		return false
	}
	return true
}

// into parses one key of a body.
func into[T any](body map[string]json.RawMessage, key string) (out T, ok bool) {
	data, ok := body[key]
	return out, ok && json.Unmarshal(data, &out) == nil
}

func (n *Nova) serveFlavors(w http.ResponseWriter, r *http.Request, path []string, body map[string]json.RawMessage) {
	switch {
	case r.Method == http.MethodGet && path[0] == "detail" && r.URL.Query().Get("is_public") == "None":
		all := []any{}
		for _, f := range n.flavors {
			all = append(all, flavorView(f))
		}
		identitytest.Write(w, http.StatusOK, map[string]any{"flavors": all})
		return
	case r.Method == http.MethodPost && len(path) == 0:
		n.makeFlavor(w, body)
		return
	}
	i := slices.IndexFunc(n.flavors, func(f common.Flavor) bool { return f.ID == path[0] })
	if i < 0 {
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Flavor "+path[0]+" could not be found.")
		return
	}
	n.serveFlavor(w, r, i, path[1:], body)
}

// serveFlavor serves requests for one flavor.
func (n *Nova) serveFlavor(w http.ResponseWriter, r *http.Request, i int, path []string, body map[string]json.RawMessage) {
	f := &n.flavors[i]
	operation := r.Method
	if len(path) > 0 {
		operation += " " + path[0]
	}
	switch operation {
	case http.MethodDelete:
		n.flavors = slices.Delete(n.flavors, i, i+1)
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		change, _ := into[struct{ Description string }](body, "flavor")
		f.Description = change.Description
		identitytest.Write(w, http.StatusOK, map[string]any{"flavor": flavorView(*f)})
	case "GET os-flavor-access":
		identitytest.Write(w, http.StatusOK, map[string]any{"flavor_access": accessOf(*f)})
	case "POST action":
		n.access(w, f, body)
	case "POST os-extra_specs":
		specs, _ := into[map[string]common.ComputeProperty](body, "extra_specs")
		f.ExtraSpecs = maps.Clone(f.ExtraSpecs)
		if f.ExtraSpecs == nil {
			f.ExtraSpecs = map[string]common.ComputeProperty{}
		}
		maps.Copy(f.ExtraSpecs, specs)
		identitytest.Write(w, http.StatusOK, map[string]any{"extra_specs": f.ExtraSpecs})
	case "DELETE os-extra_specs":
		if _, ok := f.ExtraSpecs[path[1]]; !ok {
			identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Flavor "+f.ID+" has no extra specs with key "+path[1]+".")
			return
		}
		f.ExtraSpecs = maps.Clone(f.ExtraSpecs)
		delete(f.ExtraSpecs, path[1])
		w.WriteHeader(http.StatusOK)
	default:
		identitytest.Fail(w, http.StatusMethodNotAllowed, "badMethod", "")
	}
}

func (n *Nova) makeFlavor(w http.ResponseWriter, body map[string]json.RawMessage) {
	created, ok := into[struct {
		Name, ID, Description  string
		RAM, VCPUs, Disk, Swap int32
		Public                 bool  `json:"os-flavor-access:is_public"`
		Ephemeral              int32 `json:"OS-FLV-EXT-DATA:ephemeral"`
	}](body, "flavor")
	if !ok {
		identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Invalid input.")
		return
	}
	if slices.ContainsFunc(n.flavors, func(f common.Flavor) bool { return f.Name == created.Name }) {
		identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Flavor with name "+created.Name+" already exists.")
		return
	}
	if created.ID == "" {
		n.createdCount++
		created.ID = fmt.Sprintf("id-%d", n.createdCount)
	}
	f := common.Flavor{
		Name: created.Name, ID: created.ID, Description: created.Description, VCPUs: created.VCPUs, MemoryMiB: created.RAM, DiskGiB: created.Disk,
		EphemeralGiB: created.Ephemeral, SwapMiB: created.Swap, Private: !created.Public,
	}
	n.flavors = append(n.flavors, f)
	identitytest.Write(w, http.StatusOK, map[string]any{"flavor": flavorView(f)})
}

func (*Nova) access(w http.ResponseWriter, f *common.Flavor, body map[string]json.RawMessage) {
	type tenant struct{ Tenant string }
	if add, ok := into[tenant](body, "addTenantAccess"); ok {
		if slices.Contains(f.Projects, add.Tenant) {
			identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Flavor access already exists.")
			return
		}
		f.Projects = append(slices.Clone(f.Projects), add.Tenant)
	}
	if remove, ok := into[tenant](body, "removeTenantAccess"); ok {
		f.Projects = slices.DeleteFunc(slices.Clone(f.Projects), func(p string) bool { return p == remove.Tenant })
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"flavor_access": accessOf(*f)})
}

func accessOf(f common.Flavor) []any {
	out := []any{}
	for _, p := range f.Projects {
		out = append(out, map[string]any{"flavor_id": f.ID, "tenant_id": p})
	}
	return out
}

func flavorView(f common.Flavor) map[string]any {
	return map[string]any{
		"id": f.ID, "name": f.Name, "description": f.Description, "vcpus": f.VCPUs, "ram": f.MemoryMiB, "disk": f.DiskGiB, "swap": f.SwapMiB,
		"OS-FLV-EXT-DATA:ephemeral": f.EphemeralGiB, "os-flavor-access:is_public": !f.Private, "extra_specs": f.ExtraSpecs,
	}
}

func (n *Nova) serveAggregates(w http.ResponseWriter, r *http.Request, path []string, body map[string]json.RawMessage) {
	if len(path) == 0 {
		if r.Method == http.MethodPost {
			n.makeAggregate(w, body)
			return
		}
		all := []any{}
		for _, g := range n.aggregates {
			all = append(all, aggregateView(g))
		}
		identitytest.Write(w, http.StatusOK, map[string]any{"aggregates": all})
		return
	}
	i := slices.IndexFunc(n.aggregates, func(g compute.Aggregate) bool { return strconv.Itoa(g.ID) == path[0] })
	if i < 0 {
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Aggregate "+path[0]+" could not be found.")
		return
	}
	g := &n.aggregates[i]
	switch r.Method {
	case http.MethodDelete:
		if len(g.Hosts) > 0 {
			identitytest.Fail(w, http.StatusBadRequest, "badRequest", "Host aggregate is not empty.")
			return
		}
		n.aggregates = slices.Delete(n.aggregates, i, i+1)
		w.WriteHeader(http.StatusOK)
		return
	case http.MethodPut:
		change, _ := into[struct {
			Zone string `json:"availability_zone"`
		}](body, "aggregate")
		g.AvailabilityZone = change.Zone
	case http.MethodPost:
		if !n.act(w, g, body) {
			return
		}
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"aggregate": aggregateView(*g)})
}

func (n *Nova) makeAggregate(w http.ResponseWriter, body map[string]json.RawMessage) {
	created, _ := into[struct {
		Name string
		Zone string `json:"availability_zone"`
	}](body, "aggregate")
	if slices.ContainsFunc(n.aggregates, func(g compute.Aggregate) bool { return g.Name == created.Name }) {
		identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Aggregate "+created.Name+" already exists.")
		return
	}
	n.createdCount++
	g := compute.Aggregate{ID: n.createdCount, HostAggregate: common.HostAggregate{Name: created.Name, AvailabilityZone: created.Zone}}
	n.aggregates = append(n.aggregates, g)
	identitytest.Write(w, http.StatusOK, map[string]any{"aggregate": aggregateView(g)})
}

// act changes an aggregate's hosts and metadata.
func (n *Nova) act(w http.ResponseWriter, g *compute.Aggregate, body map[string]json.RawMessage) bool {
	type host struct{ Host string }
	if add, ok := into[host](body, "add_host"); ok {
		return n.addHost(w, g, add.Host)
	}
	if remove, ok := into[host](body, "remove_host"); ok {
		if slices.Contains(n.pinned, remove.Host) && g.AvailabilityZone != "" {
			identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Cannot remove host from aggregate: instances need to move.")
			return false
		}
		g.Hosts = slices.DeleteFunc(slices.Clone(g.Hosts), func(h string) bool { return h == remove.Host })
	}
	if set, ok := into[struct {
		Metadata map[string]*common.ComputeProperty
	}](body, "set_metadata"); ok {
		g.Metadata = maps.Clone(g.Metadata)
		if g.Metadata == nil {
			g.Metadata = map[string]common.ComputeProperty{}
		}
		for key, value := range set.Metadata {
			if value == nil {
				delete(g.Metadata, key)
			} else {
				g.Metadata[key] = *value
			}
		}
	}
	return true
}

func (n *Nova) addHost(w http.ResponseWriter, g *compute.Aggregate, host string) bool {
	if !slices.ContainsFunc(n.services, func(s compute.Service) bool { return s.Binary == compute.Compute && s.Host == host }) {
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Compute host "+host+" could not be found.")
		return false
	}
	for _, other := range n.aggregates {
		zone := other.AvailabilityZone
		if zone != "" && g.AvailabilityZone != "" && zone != g.AvailabilityZone && slices.Contains(other.Hosts, host) {
			identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "One or more hosts already in availability zone(s) ["+zone+"].")
			return false
		}
	}
	if slices.Contains(g.Hosts, host) {
		identitytest.Fail(w, http.StatusConflict, "conflictingRequest", "Aggregate already has host "+host+".")
		return false
	}
	g.Hosts = append(slices.Clone(g.Hosts), host)
	return true
}

func aggregateView(g compute.Aggregate) map[string]any {
	metadata := map[string]any{}
	for key, value := range g.Metadata {
		metadata[key] = value
	}
	out := map[string]any{"id": g.ID, "name": g.Name, "availability_zone": nil, "hosts": g.Hosts, "metadata": metadata}
	if g.AvailabilityZone != "" {
		out["availability_zone"], metadata["availability_zone"] = g.AvailabilityZone, g.AvailabilityZone
	}
	return out
}
