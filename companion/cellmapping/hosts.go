package cellmapping

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// pollInterval is the interval for listing hypervisors with Nova's API.
	pollInterval = time.Minute
	// maxBackoff is the maximum delay between searches for the same hosts, and maxAttempts is the maximum recorded number of them.
	maxBackoff  = time.Hour
	maxAttempts = 10
	// forcedResyncInterval is the interval for listing the hosts of a cell without other reasons.
	forcedResyncInterval = time.Hour
	// hostLimit is the maximum number of hosts in the status.
	hostLimit = 1024
)

// searching reports whether a search for hosts is in progress.
func (obs *observation) searching() bool {
	s := obs.cell.Status.Search
	return s != nil && s.Time == nil && obs.cell.Spec.CloudCredentialsRef != nil && obs.cell.Spec.Cell != cell0
}

// unmappedHosts returns hosts that the API lists and that no cell is known to contain. If cells have more hosts than their
// status can list, as many hosts are ignored, because the names are unknown.
func (obs *observation) unmappedHosts() []string {
	mapped, nameless := map[string]bool{}, 0
	for _, c := range append([]openstackv1.CellMapping{*obs.cell}, obs.siblings...) {
		for _, h := range c.Status.Hosts {
			mapped[h] = true
		}
		nameless += int(c.Status.HostCount) - len(c.Status.Hosts)
	}
	var out []string
	for _, h := range obs.hosts {
		if !mapped[h] {
			out = append(out, h)
		}
	}
	if len(out) <= nameless {
		return nil
	}
	return out
}

// hostsMissingInAPI returns hosts of the cell that the API does not list: they were removed, or the cell's database does not
// respond.
func (obs *observation) hostsMissingInAPI() []string {
	var out []string
	for _, h := range obs.cell.Status.Hosts {
		if _, found := slices.BinarySearch(obs.hosts, h); !found {
			out = append(out, h)
		}
	}
	return out
}

// requestedSearch returns a search to be started; nil if none exists. A search without attempts only lists the hosts.
func (obs *observation) requestedSearch() *openstackv1.HostSearch {
	last, without, removed := obs.cell.Status.Search, obs.unmappedHosts(), obs.hostsMissingInAPI()
	if len(without)+len(removed) == 0 {
		if len(obs.hosts) == 0 || last != nil && obs.Now.Sub(last.Time.Time) < forcedResyncInterval {
			return nil
		}
		return &openstackv1.HostSearch{}
	}
	hash := names.Hash(hashDigits, append(without, append([]string{""}, removed...)...)...)
	if last == nil || last.Hash != hash {
		return &openstackv1.HostSearch{Hash: hash, Attempts: 1}
	}
	if obs.Now.Before(last.Time.Add(batchjob.Backoff(pollInterval, maxBackoff, last.Attempts))) {
		return nil
	}
	return &openstackv1.HostSearch{Hash: hash, Attempts: min(last.Attempts+1, maxAttempts)}
}

// look starts a search, if one is requested, and otherwise reports which hosts are mapped.
func look(w *observation) *controller.Decision {
	if !w.apiQueried {
		return nil
	}
	search := w.requestedSearch()
	if search == nil {
		return &controller.Decision{RequeueAfter: pollInterval, Status: func() {
			w.Report("")
			w.reportHosts()
			// Without hypervisors nothing is listed, and it is known that there is no nova-compute.
			if s := &w.cell.Status; len(w.hosts) == 0 && s.OldestCompute == nil {
				s.OldestCompute = new(int32(0))
			}
		}}
	}
	s := &controller.Decision{Name: "HostDiscoveryStarted", RequeueAfter: controller.MinRequeueInterval, Record: true, Status: func() {
		w.Report("")
		w.reportHosts()
		w.cell.Status.Search = search
	}}
	if without := w.unmappedHosts(); len(without) > 0 && search.Attempts == 1 {
		s.Note = "started a search for unmapped hosts: " + condition.JoinNames(without)
	}
	return s
}

// learnHosts completes a search with the listed hosts.
func (obs *observation) learnHosts(output, cell string) error {
	hosts, err := parseHosts(output, cell)
	if err != nil {
		return err
	}
	s := &obs.cell.Status
	oldest, err := parseOldestVersion(output)
	if err != nil {
		return err
	}
	s.OldestCompute = &oldest
	s.HostCount = int32(len(hosts)) //nolint:gosec // At most 10,000 lines are read.
	s.Hosts = hosts[:min(len(hosts), hostLimit)]
	if s.Search != nil {
		s.Search.Time = obs.Time()
	}
	return nil
}

// reportHosts sets the condition HostsMapped from the hosts that the API lists.
func (obs *observation) reportHosts() {
	s := &obs.cell.Status
	without := obs.unmappedHosts()
	switch {
	case len(without) > 0 && s.Search != nil && s.Search.Time != nil:
		at := s.Search.Time.Add(batchjob.Backoff(pollInterval, maxBackoff, s.Search.Attempts))
		obs.set(conditionHosts, false, "HostsNotMapped", fmt.Sprintf("no cell contains %s; last search in %s at %s, next at %s",
			condition.JoinNames(without), obs.cell.Spec.Cell, clock(s.Search.Time.Time), clock(at)))
	case len(without) > 0:
		obs.set(conditionHosts, false, "HostsNotMapped", fmt.Sprintf("no cell contains %s; searching %s", condition.JoinNames(without),
			obs.cell.Spec.Cell))
	case int(s.HostCount) > len(s.Hosts):
		obs.set(conditionHosts, true, "TooManyHosts", fmt.Sprintf("%d hosts are mapped, and at most %d can be compared with Nova's API; "+
			"use more cells", s.HostCount, hostLimit))
	case len(obs.hostsMissingInAPI()) > 0:
		obs.set(conditionHosts, true, "HostsMapped",
			fmt.Sprintf("%d hosts are mapped, but Nova's API does not list %s", s.HostCount, condition.JoinNames(obs.hostsMissingInAPI())))
	default:
		obs.set(conditionHosts, true, "HostsMapped", fmt.Sprintf("%d hosts are mapped, and no host is unmapped", s.HostCount))
	}
}

func clock(t time.Time) string { return metav1.Time{Time: t}.UTC().Format(time.RFC3339) }
