package hypervisorrecovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

const (
	// priorityKey is the metadata key with which the owner of a server selects its priority, and consentKey the one that permits new local
	// disks, with the value consent.
	priorityKey, consentKey, consent = "recovery", "recovery_local_disk", "rebuild"
	// neverRecover is the priority of a server that is not evacuated.
	neverRecover = "never"
)

// priorities are the values of the metadata, in the order of evacuations.
var priorities = map[string]int{"high": 0, "": 1, "normal": 1, "low": 2}

const (
	// attempts is the number of failed evacuations of a server after which the next one waits for retryInterval: another node may get free
	// resources.
	attempts      = 3
	retryInterval = 15 * time.Minute
	// rejectionInterval is the time after which a request that Nova has rejected is sent again.
	rejectionInterval = 5 * time.Minute
	// evacuationTimeout is the time after which an evacuation is reported. It continues.
	evacuationTimeout = 30 * time.Minute
	// requestTimeout is the time after which Nova does not execute a request to evacuate a server anymore. It is longer than the timeouts of
	// its API, of its message queue and of its database. The request is reported after resultDelay.
	requestTimeout, resultDelay = 10 * time.Minute, time.Minute
	// stoppedLimit and remainingLimit are the maximum numbers of servers in the record of a node, and reasonLimit and nameLimit the maximum
	// lengths of their texts, in bytes. failedLimit is the maximum number of servers in ERROR in the status, and requestLimit the one of
	// requests without a result in the record of a node.
	stoppedLimit, remainingLimit, reasonLimit, nameLimit = 256, 20, 512, 255
	failedLimit, requestLimit                            = 256, 256
)

// evacuations are the servers of a failed node.
type evacuations struct {
	// pending are the servers to evacuate now, in this order.
	pending []compute.ServerDetails
	// busy are the IDs of servers whose evacuation is not finished.
	busy map[string]bool
	// slots is the number of these evacuations that count for the limit of the pool. One that does not end must not prevent others: stuck has
	// their servers.
	slots int
	stuck map[string]bool
	// requested are the recorded requests of which Nova has no result.
	requested []openstackv1.RequestedServer
	// last are the last evacuations from the node, and moves the last other migrations from it or to it, by server.
	last, moves map[string]compute.Migration
	// all are the servers on the node.
	all []compute.ServerDetails
	// remaining are the other servers, with the reasons for which they stay. late are the descriptions of evacuations that take long.
	remaining []openstackv1.RemainingServer
	late      []string
	// chosen are the IDs of remaining servers whose owners have selected that they stay.
	chosen map[string]bool
	// evacuated is the number of finished evacuations since the failure. failures are the failed ones, by server, and failed the servers that
	// are in ERROR because of them.
	evacuated int
	failures  map[string]failures
	failed    []openstackv1.FailedServer
}

const (
	// inError is the status of a server after an evacuation that failed, and stopped the one of a server that does not run. A server that
	// stayed on a failed node keeps the status running after the return of the node, until nova-compute compares it with the hypervisor.
	inError, running, stopped = "ERROR", "ACTIVE", "SHUTOFF"
	// syncTimeout is the time after the return of a node after which a server with the status running was started by its owner, and is not
	// listed anymore. It is longer than the interval of the comparison (sync_power_state_interval, 10 minutes) and its duration.
	syncTimeout = 15 * time.Minute
	// rebuilding is the prefix of the tasks of a server that is rebuilt or evacuated.
	rebuilding = "rebuild"
	// migrating is the task of a live migration.
	migrating = "migrating"
)

// failures are the failed evacuations of a server.
type failures struct {
	count int
	last  time.Time
	// target is the host of the last evacuation, even if it started before this failure of the node; "" if no host was selected.
	target string
	// response is the response of Nova to the last request.
	response response
	// recorded is the reason for which the status has the server, which is in ERROR since an earlier failure of the node.
	recorded string
	// move is the last migration of another type, if it was from the node to another one. interrupted is set if the failure of the node
	// has interrupted it: the server may run on its target.
	move        compute.Migration
	interrupted bool
}

// with returns the failures with another evacuation.
func (f failures) with(m compute.Migration) failures {
	f.count++
	if at := m.StartedAt(); at.After(f.last) {
		f.last = at
	}
	return f
}

// mayRun returns why a server in ERROR may run on the target of its evacuation, and the remedy; "" if it does not. Nova sets ERROR for each
// exception after the target has reserved its resources, and does not destroy the guest. A server whose resources were not reserved keeps
// its status, and one for which no host was selected has no target (rebuild_instance of nova/compute/manager.py). A source that starts
// twice during an evacuation completes its migration, and then sets ERROR (_init_instance): the number of failures is 0 then.
func (f failures) mayRun(s *compute.Server) string {
	if s.Status != inError || f.target == "" {
		return ""
	}
	if f.count == 0 {
		return "its last evacuation was to " + f.target + verification
	}
	return "its evacuation to " + f.target + " failed" + verification
}

// addMove adds the last migration of another type of a server. It is interrupted if it has not ended, or if it has failed since the given
// time: nova-compute of the source aborts it when it starts (_reset_live_migration of nova/compute/manager.py), and the guest continues to
// run on the target. If the status has the server, the source has started after an earlier failure.
func (f failures) addMove(m compute.Migration, nodeName string, since time.Time) failures {
	if m.Source != nodeName || m.Target == nodeName {
		return f
	}
	f.move = m
	f.interrupted = !m.IsFinished() || m.HasFailed() && (f.recorded != "" || !m.UpdatedAt().Before(since.Truncate(time.Second)))
	return f
}

// mayHaveMoved returns why a server may run on the target of an interrupted migration; "" if it does not. Nova continues no migration of
// a source that has failed, and an operator must end it: a server whose task was reset may run on the target, too. The request to the
// source may also wait in its queue, if the source has failed before: queues is the remedy, "" after the return of the node.
func (f failures) mayHaveMoved(queues string) string {
	switch {
	case !f.interrupted:
		return ""
	case f.move.Target == "":
		return fmt.Sprintf("its %s was interrupted%s", f.move.Type, queues)
	}
	return fmt.Sprintf("its %s to %s was interrupted%s%s", f.move.Type, f.move.Target, verification, queues)
}

// guide is the page whose sections have the commands of remedies.
const guide = "docs/how-to/recover-failed-nodes.md"

// verification is the remedy for a server that may run on the target of its evacuation.
const verification = ", and it may run there: if its domain exists, shut it off (virsh destroy: " + guide +
	"#destroy-a-domain-on-the-target)"

// queuesOf returns the names of the queues with requests to a node. Requests about migrations wait in the second one since Nova 2026.1
// (RPC_TOPIC_ALT of nova/compute/rpcapi.py), and in the first one before.
func queuesOf(nodeName string) string {
	return fmt.Sprintf("compute.%[1]s and compute-alt.%[1]s", nodeName)
}

// deleteQueues returns the remedy for a request about a migration, which its source executes when it starts.
func deleteQueues(nodeName string) string { return ", and delete the queues " + queuesOf(nodeName) }

// metadata returns a metadata value of a server; "" if owners of servers have no influence.
func metadata(spec *openstackv1.HypervisorRecoverySpec, s *compute.ServerDetails, key string) string {
	if spec.ServerMetadata == openstackv1.IgnoreMetadata {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(s.Metadata[key]))
}

// hasLocalDisk reports whether a disk of the server is on its node only.
func hasLocalDisk(spec *openstackv1.HypervisorRecoverySpec, s *compute.ServerDetails) bool {
	return spec.ImageDisks != openstackv1.ImageDisksShared && (s.BootsFromImage || s.DisksGiB > 0)
}

// reasonToStay returns why a server is not evacuated, and the remedy; "" if it is. has is the number of its failed evacuations.
func reasonToStay(
	spec *openstackv1.HypervisorRecoverySpec, nodeName string, s *compute.ServerDetails, has failures, now time.Time,
) string {
	priority := metadata(spec, s, priorityKey)
	_, known := priorities[priority]
	consents := spec.LocalDisks == openstackv1.RebuildWithConsent && metadata(spec, s, consentKey) == consent
	switch {
	case s.Status == inError && has.count == 0 && has.recorded != "":
		return has.recorded
	case has.mayRun(&s.Server) != "":
		return fmt.Sprintf("%s; then run openstack server set --state active %s", has.mayRun(&s.Server), s.ID)
	case has.interrupted:
		return fmt.Sprintf("%s; then run openstack server evacuate %s", has.mayHaveMoved(deleteQueues(nodeName)), s.ID)
	case priority == neverRecover:
		return "its metadata recovery is never"
	case !known:
		return fmt.Sprintf("its metadata recovery is %q: set high, normal, low or never", condition.Truncate(priority, nameLimit))
	case strings.HasPrefix(s.Task, rebuilding): // Nova may not have returned a migration, because the database of its cell did not respond.
		return fmt.Sprintf("it has the task %s: if openstack server migration list --server %s has no unfinished evacuation, run openstack "+
			"server set --state active %s", s.Task, s.ID, s.ID)
	case s.Task == migrating:
		return fmt.Sprintf("it has the task %s, and may run on its target (openstack server migration list --server %s): if it exists "+
			"there, shut it off (virsh destroy: %s#resolve-unfinished-operations)%s; then run openstack server set --state active %s", s.Task, s.ID,
			guide, deleteQueues(nodeName), s.ID)
	case s.Task != "": // The request stays in the queue of the node, and nova-compute starts a guest before it verifies the task.
		return fmt.Sprintf("it has the task %s, and its node executes the request after its return: leave it. To evacuate it, first delete the "+
			"queues %s (%s#delete-the-queues-of-a-node), because it runs twice otherwise. Then run openstack server set --state active %s", s.Task,
			queuesOf(nodeName), guide, s.ID)
	case s.Status == inError && has.count == 0 && has.move.HasFailed() && has.move.Target != "":
		return fmt.Sprintf("it was in ERROR before, and its %s to %s failed%s; then repair it (openstack server set --state active), or "+
			"delete it", has.move.Type, has.move.Target, verification)
	case s.Status == inError && has.count == 0:
		return "it was in ERROR before: repair it (openstack server set --state active), or delete it"
	case s.Status != "ACTIVE" && s.Status != "SHUTOFF" && s.Status != inError:
		return fmt.Sprintf("it is %s, and Nova evacuates only ACTIVE, SHUTOFF and ERROR servers", s.Status)
	case hasTPM(s):
		return "it has a TPM, whose state is on the node, and Nova does not evacuate it" // reject_vtpm_instances
	case hasLocalDisk(spec, s) && !consents:
		return "it has a disk on the node, which would be lost: wait for the node, or set its metadata recovery_local_disk to rebuild, with " +
			"localDisks RebuildWithConsent"
	case has.count >= attempts && now.Sub(has.last) < retryInterval:
		return fmt.Sprintf("%d evacuations failed, and the next one starts after %s: see openstack server event list --long %s", has.count,
			has.last.Add(retryInterval).UTC().Format(time.RFC3339), s.ID)
	case has.response.rejection != "" && now.Sub(has.response.at) < rejectionInterval:
		return fmt.Sprintf("%s; the next request is sent after %s", has.response.rejection,
			has.response.at.Add(rejectionInterval).UTC().Format(time.RFC3339))
	}
	return ""
}

// isChosen reports whether the owner of a server has selected that it stays, or has set another value that prevents its evacuation.
func isChosen(spec *openstackv1.HypervisorRecoverySpec, s *compute.ServerDetails) bool {
	_, evacuated := priorities[metadata(spec, s, priorityKey)]
	return !evacuated
}

// hasTPM reports whether the flavor or the image of a server has a TPM.
func hasTPM(s *compute.ServerDetails) bool {
	return s.ExtraSpecs["hw:tpm_version"] != "" || s.ImageProperties["hw_tpm_version"] != ""
}

// known are the facts about the servers of a node that Nova does not have.
type known struct {
	record *openstackv1.NodeRecovery
	// responses are the responses to the last requests, and failed the servers that the status has.
	responses map[string]response
	failed    []openstackv1.FailedServer
	// down are the hosts whose nova-computes are down.
	down map[string]bool
}

// sortServers assigns the servers of a failed node to the groups.
func sortServers(
	spec *openstackv1.HypervisorRecoverySpec, is known, servers []compute.ServerDetails, migrations []compute.Migration, now time.Time,
) evacuations {
	out := evacuations{
		busy: map[string]bool{}, stuck: map[string]bool{}, chosen: map[string]bool{}, failures: map[string]failures{},
		last: map[string]compute.Migration{}, moves: map[string]compute.Migration{}, all: servers,
	}
	for _, s := range is.failed {
		out.failures[s.ID] = failures{recorded: s.Reason}
	}
	out.addMigrations(is, migrations, now)
	for i := range servers {
		s := &servers[i]
		out.addServer(is, s, now)
		if out.busy[s.ID] {
			if !out.stuck[s.ID] {
				out.slots++
			}
			continue
		}
		has := out.failures[s.ID]
		if why := reasonToStay(spec, is.record.NodeName, s, has, now); why != "" {
			out.chosen[s.ID] = isChosen(spec, s) && has.mayRun(&s.Server) == "" && !has.interrupted
			out.remaining = append(out.remaining, openstackv1.RemainingServer{
				ID: s.ID, Name: condition.Truncate(s.Name, nameLimit), Reason: condition.Truncate(why, reasonLimit),
			})
			continue
		}
		out.pending = append(out.pending, *s)
	}
	slices.SortFunc(out.remaining, func(a, b openstackv1.RemainingServer) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(out.pending, func(a, b compute.ServerDetails) int {
		return cmp.Or(
			strings.Compare(out.failures[a.ID].response.rejection, out.failures[b.ID].response.rejection), // Servers without one are first.
			out.failures[a.ID].count-out.failures[b.ID].count,
			priorities[metadata(spec, &a, priorityKey)]-priorities[metadata(spec, &b, priorityKey)],
			stoppedLast(a.Status)-stoppedLast(b.Status), strings.Compare(a.ID, b.ID))
	})
	return out
}

// addMigrations adds the evacuations from the node, and other migrations.
func (e *evacuations) addMigrations(is known, migrations []compute.Migration, now time.Time) {
	since := is.record.StartTime.Time
	for _, m := range migrations {
		if m.Source != is.record.NodeName || m.Type != compute.Evacuation {
			move, has := e.moves[m.Server]
			if !has || m.StartedAt().After(move.StartedAt()) || m.StartedAt().Equal(move.StartedAt()) && move.IsFinished() {
				e.moves[m.Server] = m
			}
			continue
		}
		last, has := e.last[m.Server] // Times can be equal.
		if !has || m.StartedAt().After(last.StartedAt()) || m.StartedAt().Equal(last.StartedAt()) && last.Target == "" {
			e.last[m.Server] = m
		}
		isHere := slices.ContainsFunc(e.all, func(s compute.ServerDetails) bool { return s.ID == m.Server })
		switch {
		case !m.IsFinished():
			e.addBusy(m, is.down, now)
		case m.FailedAfter(since):
			e.failures[m.Server] = e.failures[m.Server].with(m)
		case !m.StartedAt().Before(since.Truncate(time.Second)) && !isHere: // A source that starts completes all migrations.
			e.evacuated++
		}
	}
}

// addServer adds the facts about a server that Nova's migrations do not have.
func (e *evacuations) addServer(is known, s *compute.ServerDetails, now time.Time) {
	// The owner of a server can rebuild it, too. A source that starts sets unfinished migrations to completed, and the target continues.
	m, has := e.last[s.ID]
	isRecent := has && !m.StartedAt().Before(is.record.StartTime.Truncate(time.Second))
	if isRecent && m.IsFinished() && strings.HasPrefix(s.Task, rebuilding) {
		e.addBusy(m, is.down, now)
	}
	e.addRequest(is.record, s, is.responses[s.ID], now)
	f := e.failures[s.ID].addMove(e.moves[s.ID], is.record.NodeName, is.record.StartTime.Time)
	f.target = m.Target
	if a := is.responses[s.ID]; a.rejection != "" {
		f.response = a
	}
	e.failures[s.ID] = f
}

// addBusy adds an evacuation that is not finished.
func (e *evacuations) addBusy(m compute.Migration, down map[string]bool, now time.Time) {
	e.busy[m.Server] = true
	switch {
	case now.Sub(m.StartedAt()) > evacuationTimeout:
		e.stuck[m.Server] = true
		e.late = append(e.late, fmt.Sprintf("the evacuation of server %s runs for more than %s", m.Server, evacuationTimeout))
	case down[m.Target]:
		e.stuck[m.Server] = true
		e.late = append(e.late, fmt.Sprintf("the evacuation of server %s does not end, because its target %s is down", m.Server, m.Target))
	}
}

// response is the response to the request of the recorded time: it was not sent, or Nova has rejected it.
type response struct {
	requested time.Time
	// rejection is the message of a rejection, at its time; "" if the request was not sent.
	rejection string
	at        time.Time
}

// addRequest keeps the recorded request to evacuate a server as long as Nova may execute it: until it has a migration that started later.
// Nova accepts a second request before it has executed the first one, and starts the server twice.
func (e *evacuations) addRequest(record *openstackv1.NodeRecovery, s *compute.ServerDetails, has response, now time.Time) {
	i := slices.IndexFunc(record.RequestedServers, func(r openstackv1.RequestedServer) bool { return r.ID == s.ID })
	if i < 0 || has.requested.Equal(record.RequestedServers[i].Time.Time) {
		return
	}
	r := record.RequestedServers[i]
	if last, has := e.last[s.ID]; has && !last.StartedAt().Before(r.Time.Time) {
		return
	}
	age := now.Sub(r.Time.Time)
	if !e.busy[s.ID] && age > resultDelay && age < requestTimeout {
		e.late = append(e.late, fmt.Sprintf("Nova has no result of the request to evacuate server %s: do not evacuate it manually, because a "+
			"second request may start it twice; it is sent again after %s", s.ID, r.Time.Add(requestTimeout).UTC().Format(time.RFC3339)))
	}
	if age < requestTimeout {
		e.busy[s.ID] = true
		e.requested = append(e.requested, r)
	}
}

// request records a request to evacuate a server. Its time is later than the start of the last evacuation, also if the clock
// of Nova is ahead of the one of the companion.
func (e *evacuations) request(record *openstackv1.NodeRecovery, id string, now time.Time) {
	at := now.Truncate(time.Second) // As in the status.
	if last := e.last[id].StartedAt().Truncate(time.Second).Add(time.Second); last.After(at) {
		at = last
	}
	record.RequestedServers = append(record.RequestedServers, openstackv1.RequestedServer{ID: id, Time: metav1.Time{Time: at}})
}

// failedServers returns the servers of a failed node that are in ERROR because their evacuations failed, after this failure of the node or
// after an earlier one, which has recorded them.
func (n *node) failedServers(servers []compute.ServerDetails, recorded []openstackv1.FailedServer) (out []openstackv1.FailedServer) {
	for i := range servers {
		s := &servers[i]
		j := slices.IndexFunc(recorded, func(r openstackv1.FailedServer) bool { return r.ID == s.ID })
		has := n.servers.failures[s.ID]
		// It was not started after an earlier return of the node.
		if j >= 0 && recorded[j].ReturnTime != nil && (s.Status == stopped || has.interrupted) {
			out = append(out, recorded[j])
			continue
		}
		if s.Status != inError || n.servers.busy[s.ID] {
			continue
		}
		why := has.mayRun(&s.Server)
		if has.count == 0 && (why == "" || j >= 0) {
			if j >= 0 {
				out = append(out, recorded[j])
			}
			continue
		}
		remedy := "run openstack server " + n.restart(s.ID)
		if slices.Contains(n.record.StoppedServers, s.ID) {
			remedy = fmt.Sprintf("it was stopped, so run openstack server set --state active %s and openstack server %s", s.ID, n.restart(s.ID))
		}
		reason := fmt.Sprintf("evacuations failed: %d, and Nova starts no server in ERROR when its node returns: %s then", has.count, remedy)
		if why != "" {
			reason = fmt.Sprintf("%s; after the return of its node, %s", why, remedy)
		}
		out = append(out, openstackv1.FailedServer{
			ID: s.ID, Name: condition.Truncate(s.Name, nameLimit), NodeName: n.name, Reason: condition.Truncate(reason, reasonLimit),
		})
	}
	return out
}

// runningServers returns the IDs of the servers on the node that ran before its failure. recorded are the known ones.
func (n *node) runningServers(recorded []string) (out []string) {
	for i := range n.servers.all {
		s := &n.servers.all[i]
		ran := s.Status == running && n.record.State != openstackv1.RecoveryReturning // Later, others may start servers.
		if (ran || slices.Contains(recorded, s.ID)) && len(out) < stoppedLimit {
			out = append(out, s.ID)
		}
	}
	return out
}

// notStarted returns the servers that ran before the failure of a node that has returned, and that Nova does not start, or does not run
// yet, and those whose evacuations have not ended: Nova does not repair them when their node returns.
func (n *node) notStarted(now time.Time) (out []openstackv1.FailedServer) {
	for i := range n.servers.all {
		s := &n.servers.all[i]
		r := openstackv1.FailedServer{ID: s.ID, Name: condition.Truncate(s.Name, nameLimit), NodeName: n.name}
		switch {
		case n.servers.busy[s.ID]:
			r.Reason = condition.Truncate(n.unfinished(s.ID), reasonLimit)
		case slices.Contains(n.record.RunningServers, s.ID) && (s.Status == running || s.Status == stopped):
			r.ReturnTime = &metav1.Time{Time: now}
			r.Reason = "it ran before the failure of its node, and Nova does not start it: run openstack server start " + s.ID
			if why := n.servers.failures[s.ID].mayHaveMoved(""); why != "" {
				r.Reason = condition.Truncate(fmt.Sprintf("%s; then run openstack server start %s", why, s.ID), reasonLimit)
			}
		default:
			continue
		}
		out = append(out, r)
	}
	return out
}

// unfinished returns the reason and the remedy for a server whose evacuation has not ended at the return of its node. Nova rejects other
// operations while it has a task.
func (n *node) unfinished(id string) string {
	remedy := fmt.Sprintf("run openstack server set --state active %s and openstack server %s", id, n.restart(id))
	if target := n.servers.last[id].Target; target != "" {
		return fmt.Sprintf("its evacuation to %s does not end%s; then %s", target, verification, remedy)
	}
	return "its evacuation does not end: " + remedy
}

// restart returns the operation that returns a server to its power state from before the failure.
func (n *node) restart(id string) string {
	if slices.Contains(n.record.StoppedServers, id) {
		return "stop " + id
	}
	return "reboot --hard " + id
}

// stoppedLast orders servers that do not run after the others.
func stoppedLast(status string) int {
	if status == "SHUTOFF" {
		return 1
	}
	return 0
}
