package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// attempts is the number of failed migrations of a server after which the next one waits for retryInterval: another node may get free
	// resources.
	attempts      = 3
	retryInterval = 15 * time.Minute
	// stoppedLimit is the maximum number of stopped servers in the status.
	stoppedLimit = 1024
)

// isParked reports whether a server may be on a drained node: it does not run, and its method leaves it there.
func isParked(m *move) bool {
	return m.Status == "SHUTOFF" && m.Task == "" && m.method == openstackv1.MoveStay && m.blocker == ""
}

// remaining returns the servers that have to leave the node or to stop.
func (obs *observation) remaining() []move {
	return slices.DeleteFunc(obs.plan(), func(m move) bool { return isParked(&m) })
}

// confirmable returns the servers whose cold migration from the node since the start waits for its confirmation. A resize, which has
// another type, is confirmed by its owner.
func (obs *observation) confirmable() []string {
	var out []string
	for _, m := range obs.migrations {
		if m.Status == "finished" && m.Type == compute.ColdMigration && m.Source == string(obs.order.Spec.NodeName) &&
			!m.StartedAt().Before(obs.order.Status.StartTime.Truncate(time.Second)) {
			out = append(out, m.Server)
		}
	}
	return out
}

// busy returns the servers with an operation in progress: with a task, or with a migration from the node that runs.
func (obs *observation) busy() map[string]bool {
	out := map[string]bool{}
	for i := range obs.candidates {
		if c := &obs.candidates[i]; c.Task != "" {
			out[c.ID] = true
		}
	}
	for _, m := range obs.migrations {
		if m.Source == string(obs.order.Spec.NodeName) && !m.IsFinished() && m.Status != "finished" {
			out[m.Server] = true
		}
	}
	return out
}

// movable returns the servers that can be moved now, and how many more of them may move at the same time; and servers whose migrations have
// failed, and are started again later.
func (obs *observation) movable(moves []move) (next []move, free int, retried []move) {
	busy := obs.busy()
	for _, m := range moves {
		if f := obs.failures[m.ID]; !busy[m.ID] && m.method != openstackv1.MoveStay && m.blocker == "" {
			if f.count >= attempts && obs.now.Sub(f.last) < retryInterval {
				retried = append(retried, m)
			} else {
				next = append(next, m)
			}
		}
	}
	slices.SortStableFunc(next, func(a, b move) int { return obs.failures[a.ID].count - obs.failures[b.ID].count })
	return next, max(int(obs.order.Spec.ParallelServers), 1) - len(busy), retried
}

// drain takes the next step of the draining.
func (obs *observation) drain() controller.Decision {
	moves := obs.plan()
	problem := obs.obstruction(moves)
	switch {
	case problem.Reason == "NodeUnreadable" || problem.Reason == "DisabledByOther":
		return obs.wait(moves, problem)
	case !obs.disabledHere():
		return obs.disable()
	}
	if ids := obs.confirmable(); len(ids) > 0 {
		return obs.confirm(ids, func() { obs.progress(moves) })
	}
	next, free, retried := obs.movable(moves)
	switch {
	case problem.Reason == "ComputeDown":
		return obs.wait(moves, problem)
	case len(next) > 0 && free > 0:
		return obs.move(moves, next, free)
	case len(obs.remaining()) == 0 && obs.emptiness().True:
		return obs.finishDrain()
	case len(obs.remaining()) == 0 && obs.emptiness().Reason != "Draining":
		problem = obs.emptiness()
	}
	if late := obs.late(); len(late) > 0 {
		problem = condition.False("MigrationSlow", joinMessages(late))
	} else if len(retried) > 0 && problem.Reason == "" {
		problem = obs.failed(retried)
	}
	return obs.wait(moves, problem)
}

// wait reports the progress. Nothing can be done if no operation is in progress.
func (obs *observation) wait(moves []move, problem condition.State) controller.Decision {
	return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
		obs.progress(moves)
		switch busy := len(obs.busy()) > 0; {
		case problem.Reason == "":
			obs.unblock()
		case busy && problem.Reason != "MigrationSlow":
			obs.set(conditionUnblocked, problem)
		default:
			obs.block(problem)
		}
	}}
}

// act executes operations, after the status was written over the version that was read. If the service rejects one, the state and the
// condition have that until all are accepted.
func (obs *observation) act(name, note string, report func(), do func(context.Context) []error) controller.Decision {
	return controller.Decision{
		Name: name, Note: note, Record: true, RequeueAfter: shortestInterval,
		Status: func() {
			state, last := obs.order.Status.State, meta.FindStatusCondition(obs.order.Status.Conditions, conditionUnblocked).DeepCopy()
			obs.unblock()
			report()
			if last != nil && last.Reason == rejectedReason {
				obs.order.Status.State = state
				obs.set(conditionUnblocked, condition.False(last.Reason, last.Message))
			}
		},
		Action: func(ctx context.Context, _ *controller.Env) error { return obs.rejected(do(ctx)...) },
	}
}

// rejectedReason is the reason of an operation that a service rejected.
const rejectedReason = "RejectedByService"

// rejected converts errors of a service to a state of the order; nil if all errors are nil.
func (obs *observation) rejected(errs ...error) error {
	var all []string
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	if len(all) == 0 {
		return nil
	}
	obs.order.Status.State = openstackv1.MaintenanceBlocked
	return controller.Rejected(rejectedReason, errors.New(joinMessages(all)))
}

// move starts the moves of the first servers that Nova accepts. Servers that are stopped are recorded before: they are started when the
// node is back.
func (obs *observation) move(moves, next []move, free int) controller.Decision { //nolint:gocognit // one step after the other
	var names, stop []string
	for i := range next {
		if m := &next[i]; m.method == openstackv1.MoveStop && len(stop) < free {
			stop = append(stop, m.ID)
		}
		if i < free {
			names = append(names, fmt.Sprintf("%s of %s", next[i].method, next[i].Name))
		}
	}
	report := func() {
		obs.progress(moves)
		s := &obs.order.Status
		for _, id := range stop {
			if !slices.Contains(s.StoppedServers, id) && len(s.StoppedServers) < stoppedLimit {
				s.StoppedServers = append(s.StoppedServers, id)
			}
		}
	}
	return obs.act("Moving", "started: "+condition.JoinNames(names), report, func(ctx context.Context) (errs []error) {
		for i := range next {
			m := &next[i]
			if free == 0 {
				break
			}
			if m.method == openstackv1.MoveStop && !slices.Contains(obs.order.Status.StoppedServers, m.ID) {
				continue
			}
			err := obs.execute(ctx, m)
			if !compute.Rejected(err) { // Without a response, it may have started.
				free--
			}
			errs = append(errs, err)
		}
		return errs
	})
}

// confirm confirms cold migrations.
func (obs *observation) confirm(ids []string, report func()) controller.Decision {
	note := fmt.Sprintf("confirmed the cold migrations of %d servers", len(ids))
	return obs.act("Confirmed", note, report, func(ctx context.Context) (errs []error) {
		for _, id := range ids {
			errs = append(errs, obs.nova.Confirm(ctx, id))
		}
		return errs
	})
}

// execute starts the move of a server.
func (obs *observation) execute(ctx context.Context, m *move) error {
	switch m.method {
	case openstackv1.MoveLive:
		return obs.nova.Move(ctx, m.Server)
	case openstackv1.MoveCold:
		return obs.nova.Migrate(ctx, m.ID)
	case openstackv1.MoveStop:
		return obs.nova.Stop(ctx, m.ID)
	case openstackv1.MoveStay:
	}
	return nil
}

// late returns the migrations that take longer than the limit.
func (obs *observation) late() []string {
	limit := time.Duration(obs.order.Spec.ServerTimeoutSeconds) * time.Second
	var out []string
	for _, m := range obs.migrations {
		if !m.IsFinished() && m.Status != "finished" && limit > 0 && obs.now.Sub(m.StartedAt()) > limit {
			out = append(out, fmt.Sprintf("the migration of server %s runs for more than %s: wait, or run openstack server migration abort",
				m.Server, limit))
		}
	}
	return out
}

// failed returns the condition of servers whose migrations failed.
func (obs *observation) failed(retried []move) condition.State {
	reason, why := "MigrationsFailed", []string{}
	for i := range retried {
		m := &retried[i]
		f := obs.failures[m.ID]
		text := fmt.Sprintf("%s (%s): %d migrations failed, and the next one starts after %s", m.Name, m.ID, f.count,
			f.last.Add(retryInterval).UTC().Format(time.RFC3339))
		if f.message != "" {
			text += ": " + condition.Truncate(f.message, blockerLimit)
		}
		if isNoValidHost(f.message) {
			reason = "NoValidHost"
		}
		why = append(why, text)
	}
	return condition.False(reason, joinMessages(why))
}

// emptiness reports whether a node without servers that have to leave has none, and can get none. The reason of a state that an operator
// changes is not Draining.
func (obs *observation) emptiness() condition.State {
	known := map[string]bool{}
	for i := range obs.candidates {
		known[obs.candidates[i].ID] = true
	}
	for _, m := range obs.migrations {
		switch {
		case m.IsFinished():
		case m.Source != string(obs.order.Spec.NodeName):
			return condition.False("Draining", fmt.Sprintf("server %s is migrating to the node", m.Server))
		case m.Status == "finished":
			return condition.False("ResizePending", fmt.Sprintf("the resize of server %s has data on the node: run openstack server resize confirm "+
				"or revert", m.Server))
		default:
			return condition.False("Draining", fmt.Sprintf("server %s is migrating from the node", m.Server))
		}
	}
	for _, c := range obs.consumers {
		if !known[c] {
			return condition.False("AllocationLeft", fmt.Sprintf("Placement has an allocation of %s on the node: a server that is being created or "+
				"moved, or one that was evacuated; see openstack resource provider allocation show %s", c, c))
		}
	}
	return condition.True("NodeEmpty", "")
}

// finishDrain records that the node is drained, with the ID of its boot.
func (obs *observation) finishDrain() controller.Decision {
	return controller.Decision{
		Name: "Drained", Note: fmt.Sprintf("node %s is drained", obs.order.Spec.NodeName), Record: true, RequeueAfter: controller.Poll,
		Status: func() {
			s := &obs.order.Status
			s.DrainedTime, s.BootID = obs.time(), obs.bootID()
			obs.reportDrained()
		},
	}
}

// bootID returns the ID of the node's boot; "" if the Node does not exist.
func (obs *observation) bootID() string {
	if obs.node == nil {
		return ""
	}
	return condition.Truncate(obs.node.Status.NodeInfo.BootID, 128) //nolint:mnd // The limit of the field.
}
