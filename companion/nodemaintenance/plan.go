package nodemaintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

const (
	// serverLimit is the maximum number of servers in the status. It limits the size of the object in etcd.
	serverLimit = 100
	// blockerLimit and nameLimit are the maximum lengths of the texts of a server, in bytes.
	blockerLimit, nameLimit, statusLimit = 512, 255, 32
)

// move is a server with its method.
type move struct {
	*candidate

	method  openstackv1.MoveMethod
	blocker string
	// target is the host that Nova's scheduler has selected; "" if it has not.
	target string
}

// plan returns the methods of all servers, in the order in which they are moved. Servers that are stopped come last, because they do not
// run from then on until the end of the maintenance.
func (obs *observation) plan() []move {
	rank := map[openstackv1.MoveMethod]int{
		openstackv1.MoveLive: 1, openstackv1.MoveCold: 2, openstackv1.MoveStop: 3, openstackv1.MoveStay: 4, //nolint:mnd // An order.
	}
	var out []move
	for i := range obs.candidates {
		c := &obs.candidates[i]
		m := move{candidate: c, target: obs.targets[c.ID]}
		m.method, m.blocker = c.method()
		out = append(out, m)
	}
	direction := int64(1)
	if obs.order.Spec.Order == openstackv1.LargestFirst {
		direction = -1
	}
	slices.SortFunc(out, func(a, b move) int {
		return cmp.Or(rank[a.method]-rank[b.method], cmp.Compare(direction*a.MemoryMiB, direction*b.MemoryMiB), strings.Compare(a.ID, b.ID))
	})
	return out
}

// report returns the plan for the status: servers with a blocker first, so that the list always has them.
func (obs *observation) report(moves []move) *openstackv1.NodeMaintenancePlan {
	out := &openstackv1.NodeMaintenancePlan{ServerCount: int32(len(moves))} //nolint:gosec // A count of servers.
	var blocked, others []openstackv1.PlannedServer
	for i := range moves {
		m := &moves[i]
		s := openstackv1.PlannedServer{
			ID: m.ID, Name: condition.Truncate(m.Name, nameLimit), Status: condition.Truncate(m.Status, statusLimit), Method: m.method,
			Target: m.target, Blocker: condition.Truncate(m.blocker, blockerLimit),
		}
		if m.blocker == "" {
			s.EstimatedSeconds = m.estimate(m.method)
			others = append(others, s)
		} else {
			blocked = append(blocked, s)
		}
		out.EstimatedSeconds += s.EstimatedSeconds
	}
	parallel := int64(max(obs.order.Spec.ParallelServers, 1))
	out.EstimatedSeconds = (out.EstimatedSeconds + parallel - 1) / parallel
	out.BlockedCount = int32(len(blocked)) //nolint:gosec // as above
	all := slices.Concat(blocked, others)
	out.OmittedCount = int32(max(len(all)-serverLimit, 0)) //nolint:gosec // as above
	out.Servers = all[:min(len(all), serverLimit)]
	return out
}

// blockers returns the servers that block the maintenance, each with its reason.
func blockers(moves []move) []string {
	var out []string
	for i := range moves {
		if m := &moves[i]; m.blocker != "" {
			out = append(out, fmt.Sprintf("%s (%s): %s", m.Name, m.ID, m.blocker))
		}
	}
	return out
}

// shownMessages is the maximum number of messages in a condition.
const shownMessages = 5

// joinMessages joins the first messages, and the number of the others.
func joinMessages(all []string) string {
	if len(all) <= shownMessages {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:shownMessages], "; "), len(all)-shownMessages)
}
