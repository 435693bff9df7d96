// Package computetest is a fake of the part of Nova's API that package compute uses, behind a fake Keystone.
package computetest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// address of the API in Keystone's catalog.
const address = "https://nova.cloud.svc:8774/v2.1"

// Nova serves requests to Nova, Placement and Neutron, and forwards others to Keystone.
type Nova struct {
	// Keystone issues the tokens.
	Keystone *identitytest.Keystone

	mutex    sync.Mutex
	services []compute.Service
	deleted  []compute.Service
	down     bool
	// unresponsiveHosts are the hosts of a cell whose database does not respond.
	unresponsiveHosts []string
	// incompleteHosts are hosts whose servers and migrations lists do not have.
	incompleteHosts []string
	// placementDown makes all requests to Placement fail.
	placementDown bool
	// requestError is returned for all requests, and createError for the creation of flavors and aggregates.
	requestError, createError string

	flavors    []common.Flavor
	aggregates []compute.Aggregate
	// createdCount is the number of created objects, and pinned are hosts whose servers cannot leave their zone.
	createdCount int
	pinned       []string

	hypervisors []Hypervisor
	agents      []compute.Agent
	moves       []string
	// groups are the policies of server groups.
	groups map[string]string
	// actions are the accepted operations on servers. rejected are servers whose operations Nova rejects, moveErrors the messages with which
	// migrations fail, and confirmed the states of servers after the confirmation of their cold migration.
	actions                         []string
	rejected, moveErrors, confirmed map[string]string
	// evacuations are the evacuations in progress, and stalled the requests that are executed later. isLost is set if the response of the
	// last request is lost. failingStarts and failingClaims are servers whose evacuations fail late or early, hanging those whose evacuations
	// do not end, and starts the guests that evacuations have started.
	evacuations, stalled []evacuation
	isStalled, isLost    bool
	failingStarts        map[string]bool
	failingClaims        map[string]bool
	hanging              map[string]bool
	starts               []Start
	// queued are the requests to start servers in the queues of hosts that do not run, and interrupted the servers whose live migrations the
	// failure of the source has interrupted.
	queued      []Start
	interrupted map[string]bool
	now         func() time.Time
}

// New returns a Nova whose API is in Keystone's catalog.
func New(keystone *identitytest.Keystone) *Nova {
	keystone.SetEndpoint("compute", address)
	keystone.SetEndpoint("placement", placementAddress)
	keystone.SetEndpoint("network", neutronAddress)
	return &Nova{Keystone: keystone, rejected: map[string]string{}, confirmed: map[string]string{}}
}

// Set replaces all records.
func (n *Nova) Set(all ...compute.Service) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.services = slices.Clone(all)
}

// Services returns all records.
func (n *Nova) Services() []compute.Service {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.services)
}

// Deleted returns the records that were removed with the API.
func (n *Nova) Deleted() []compute.Service {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.deleted)
}

// SetDown makes every request to Nova fail.
func (n *Nova) SetDown(down bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.down = down
}

// SetCellDown makes the database of a cell with the given hosts unavailable. Nova serves most requests with the rest of the records, and
// rejects those for which it reads one cell after the other.
func (n *Nova) SetCellDown(hosts ...string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.unresponsiveHosts = hosts
}

// SetIncomplete makes lists of the servers and of the migrations of hosts empty: the process of nova-api that serves them does not reach
// the database of the cell, and another one serves the other requests.
func (n *Nova) SetIncomplete(hosts ...string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.incompleteHosts = hosts
}

// SetPlacementDown makes every request to Placement fail.
func (n *Nova) SetPlacementDown(down bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.placementDown = down
}

// FailRequests makes Nova reject all requests with a message; "" resets it.
func (n *Nova) FailRequests(message string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.requestError = message
}

// FailCreates makes Nova reject the creation of flavors and aggregates with a message; "" resets it.
func (n *Nova) FailCreates(message string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.createError = message
}

// RoundTrip serves a request without a network.
func (n *Nova) RoundTrip(r *http.Request) (*http.Response, error) {
	serve := n.serve
	switch url := r.URL.String(); {
	case strings.HasPrefix(url, placementAddress):
		serve = n.servePlacement
	case strings.HasPrefix(url, neutronAddress):
		serve = n.serveNeutron
	case !strings.HasPrefix(url, address):
		return n.Keystone.RoundTrip(r)
	}
	response, err := identitytest.Answer(r, serve)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.isLost {
		n.isLost = false
		return nil, context.DeadlineExceeded
	}
	return response, err
}

func (n *Nova) serve(w http.ResponseWriter, r *http.Request) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2.1/"), "/")
	switch {
	case n.down:
		identitytest.Fail(w, http.StatusServiceUnavailable, "serviceUnavailable", "")
	case !n.Keystone.Issued(r.Header.Get("X-Auth-Token")):
		identitytest.Fail(w, http.StatusUnauthorized, "unauthorized", "This server could not verify that you are authorized.")
	case n.requestError != "":
		identitytest.Fail(w, http.StatusForbidden, "forbidden", n.requestError)
	case n.createError != "" && r.Method == http.MethodPost && (path[0] == "flavors" || path[0] == "os-aggregates") && len(path) == 1:
		identitytest.Fail(w, http.StatusForbidden, "forbidden", n.createError)
	case n.catalog(w, r, path):
	case r.Method == http.MethodGet && n.serveHypervisors(w, r, path):
	case r.Method == http.MethodPost && path[0] == "servers" && len(path) == 3:
		n.move(w, r, path[1])
	case path[0] != "os-services":
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	case r.Method == http.MethodGet && len(path) == 1:
		n.list(w, r.URL.Query(), r.Header.Get("X-Openstack-Nova-Api-Version") == "2.69")
	case r.Method == http.MethodPut && len(path) == 2 && r.Header.Get("X-Openstack-Nova-Api-Version") == hostMicroversion:
		n.disable(w, r, path[1])
	case r.Header.Get("X-Openstack-Nova-Api-Version") != "2.53":
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	case r.Method == http.MethodDelete && len(path) == 2:
		n.remove(w, path[1])
	case r.Method == http.MethodPut && len(path) == 2:
		n.update(w, r, path[1])
	default:
		identitytest.Fail(w, http.StatusMethodNotAllowed, "badMethod", "")
	}
}

// list lists the records. partial includes the hypervisors of a cell that does not respond, without further fields.
func (n *Nova) list(w http.ResponseWriter, query url.Values, partial bool) {
	all := []any{}
	for _, s := range n.services {
		switch {
		case query.Has("binary") && s.Binary != query.Get("binary") || query.Has("host") && s.Host != query.Get("host"):
		case slices.Contains(n.unresponsiveHosts, s.Host):
			if partial && s.Binary == compute.Compute {
				all = append(all, map[string]any{"binary": s.Binary, "host": s.Host, "status": "UNKNOWN"})
			}
		default:
			var reported any
			if !s.ReportedAt.IsZero() {
				reported = s.ReportedAt.UTC().Format("2006-01-02T15:04:05.000000")
			}
			all = append(all, map[string]any{
				"id": s.ID, "binary": s.Binary, "host": s.Host, "zone": "internal",
				"status": map[bool]string{true: "disabled", false: "enabled"}[s.Disabled], "disabled_reason": s.Reason,
				"state": map[bool]string{true: "up", false: "down"}[s.Up && !s.ForcedDown], "updated_at": reported, "forced_down": s.ForcedDown,
			})
		}
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"services": all})
}

// remove deletes a record. Nova searches it in one cell after the other.
func (n *Nova) remove(w http.ResponseWriter, id string) {
	if len(n.unresponsiveHosts) > 0 {
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "Unexpected API Error.")
		return
	}
	i := slices.IndexFunc(n.services, func(s compute.Service) bool { return s.ID == id })
	if i < 0 {
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "Service "+id+" not found.")
		return
	}
	if n.services[i].Binary == compute.Compute && !n.leave(w, n.services[i].Host) {
		return
	}
	n.deleted = append(n.deleted, n.services[i])
	n.services = slices.Delete(n.services, i, i+1)
	w.WriteHeader(http.StatusNoContent)
}
