package hypervisorrecovery

import (
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// memory has the facts of earlier passes of this process that are in no status. Without them, an operation is late, and none is permitted.
type memory struct {
	// parallel is the maximum number of devices that are read at the same time; 0: one.
	parallel int
	// pools are the facts by the namespace, name and UID of the object.
	pools map[string]*past
	// spent is the time that passes of all pools have taken.
	spent time.Duration
}

// past has the facts about one pool.
type past struct {
	// unbroken is the start of the first of the consecutive passes that read everything, and ended the end of the last one; zero
	// if the last pass has not read everything.
	unbroken, ended time.Time
	// spent is the time that passes of this pool have taken, and others the one of passes of other pools before the end of the last pass.
	spent, others time.Duration
	// verified is the name of the node that was verified last.
	verified string
	// failures are the numbers of consecutive verifications of nodes that failed.
	failures map[string]int
	// unansweredTimes are the times at which healthy nodes did not respond to their probes, until they respond.
	unansweredTimes map[string]time.Time
	// off and on are the numbers of consecutive passes in which the power of nodes was off or on, and healthySince the times since which nodes
	// with a record are healthy.
	off, on      map[string]int
	healthySince map[string]time.Time
	// respondingSince are the times since which probes of nodes respond whose power was off.
	respondingSince map[string]time.Time
	// responses are the responses to requests to evacuate servers, by node and server.
	responses map[string]map[string]response
}

// responsesOf returns the responses about the servers of a node.
func (p *past) responsesOf(node string) map[string]response {
	if p.responses == nil {
		p.responses = map[string]map[string]response{}
	}
	if p.responses[node] == nil {
		p.responses[node] = map[string]response{}
	}
	return p.responses[node]
}

// pauseLimit is the longest pause between two passes after which a report that both have is regarded as continuous.
const pauseLimit = 2 * time.Minute

// start starts a pass of a pool. The time of passes of other pools is no pause: their number must not prevent recoveries, and the evidence
// is read again before each power off.
func (m *memory) start(p *past, now time.Time) {
	others := m.spent - p.spent - p.others
	if p.ended.IsZero() || now.Before(p.ended) || now.Sub(p.ended)-others > pauseLimit {
		p.unbroken = now
	}
}

// took adds the time of a part of a pass.
func (m *memory) took(p *past, d time.Duration) {
	m.spent += d
	p.spent += d
}

// end ends a pass that has read everything, and interrupt another one: witnesses may have reported something else meanwhile.
func (m *memory) end(p *past, now time.Time) { p.ended, p.others = now, m.spent-p.spent }
func (p *past) interrupt()                   { p.ended = time.Time{} }

// of returns the facts about the pool of an object.
func (m *memory) of(r *openstackv1.HypervisorRecovery) *past {
	key := r.Namespace + "/" + r.Name + "/" + string(r.UID)
	if m.pools == nil {
		m.pools = map[string]*past{}
	}
	if m.pools[key] == nil {
		m.pools[key] = &past{failures: map[string]int{}, unansweredTimes: map[string]time.Time{}}
	}
	return m.pools[key]
}
