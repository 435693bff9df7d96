// Package blockstoragetest is a fake of the part of Cinder's API that package blockstorage uses, behind a fake Keystone.
package blockstoragetest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// address of the API in Keystone's catalog.
const address = "https://cinder.cloud.svc:8776/v3"

// Service is a record in Cinder: the host of a manager includes its backend.
type Service struct {
	Binary, Host string
	Up           bool
}

// Pool is a pool known to the schedulers.
type Pool struct {
	// Name is host@backend#pool, or cluster@backend#pool.
	Name string
	// ReportedAt is the time of the manager's last report.
	ReportedAt time.Time
	// Total and Free are numbers or strings.
	Total, Free any
	// State is reported by its manager: up, down or "" if it reports none.
	State string
}

// Cinder serves requests to Cinder, and forwards others to Keystone.
type Cinder struct {
	// Keystone issues the tokens.
	Keystone *identitytest.Keystone

	mutex    sync.Mutex
	services []Service
	pools    []Pool
	down     bool
	// schedulersDown is set if no scheduler responds. refusal is returned for all requests.
	schedulersDown bool
	requestError   string
	requestCount   int
}

// New returns a Cinder whose API is in Keystone's catalog.
func New(keystone *identitytest.Keystone) *Cinder {
	keystone.SetEndpoint("block-storage", address)
	return &Cinder{Keystone: keystone}
}

// Set replaces all records.
func (c *Cinder) Set(all ...Service) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.services = slices.Clone(all)
}

// SetPools replaces all pools.
func (c *Cinder) SetPools(all ...Pool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.pools = slices.Clone(all)
}

// SetDown makes every request fail.
func (c *Cinder) SetDown(down bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.down = down
}

// FailSchedulerRequests makes requests fail that require a scheduler.
func (c *Cinder) FailSchedulerRequests(missing bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.schedulersDown = missing
}

// FailRequests makes Cinder reject all requests with a message; "" resets it.
func (c *Cinder) FailRequests(message string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.requestError = message
}

// RequestCount returns the number of requests.
func (c *Cinder) RequestCount() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.requestCount
}

// RoundTrip serves a request without a network.
func (c *Cinder) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), address) {
		return c.Keystone.RoundTrip(r)
	}
	return identitytest.Answer(r, c.serve)
}

func (c *Cinder) serve(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.requestCount++
	path := strings.TrimPrefix(r.URL.Path, "/v3/")
	switch {
	case c.down:
		identitytest.Fail(w, http.StatusServiceUnavailable, "serviceUnavailable", "")
	case !c.Keystone.Issued(r.Header.Get("X-Auth-Token")):
		identitytest.Fail(w, http.StatusUnauthorized, "unauthorized", "This server could not verify that you are authorized.")
	case c.requestError != "":
		identitytest.Fail(w, http.StatusForbidden, "forbidden", c.requestError)
	case r.Method != http.MethodGet:
		identitytest.Fail(w, http.StatusMethodNotAllowed, "badMethod", "")
	case path == "os-services":
		c.listServices(w)
	case path == "scheduler-stats/get_pools" && c.schedulersDown:
		identitytest.Fail(w, http.StatusInternalServerError, "computeFault", "The server has either erred or is incapable of it.")
	case path == "scheduler-stats/get_pools":
		c.listPools(w, strings.EqualFold(r.URL.Query().Get("detail"), "true"))
	default:
		identitytest.Fail(w, http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	}
}

func (c *Cinder) listServices(w http.ResponseWriter) {
	all := []any{}
	for _, s := range c.services {
		all = append(all, map[string]any{
			"binary": s.Binary, "host": s.Host, "zone": "nova", "status": "enabled", "disabled_reason": nil,
			"state": map[bool]string{true: "up", false: "down"}[s.Up], "updated_at": "2026-03-02T12:00:00.000000",
		})
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"services": all})
}

func (c *Cinder) listPools(w http.ResponseWriter, detail bool) {
	all := []any{}
	for _, p := range c.pools {
		pool := map[string]any{"name": p.Name}
		if detail {
			has := map[string]any{
				"total_capacity_gb": p.Total, "free_capacity_gb": p.Free, "vendor_name": "Open Source", "reserved_percentage": 0,
			}
			if !p.ReportedAt.IsZero() {
				has["timestamp"] = p.ReportedAt.UTC().Format("2006-01-02T15:04:05.000000")
			}
			if p.State != "" {
				has["backend_state"] = p.State
			}
			pool["capabilities"] = has
		}
		all = append(all, pool)
	}
	identitytest.Write(w, http.StatusOK, map[string]any{"pools": all})
}
