package servicecheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/missingnodes"
)

// shortRequeueInterval is the interval after a failure, and the minimum interval between two requests.
const shortRequeueInterval = controller.Poll

// binaryLimit is the maximum number of binaries in the status.
const binaryLimit = 32

// next selects the next step.
func next(w *observation) controller.Decision {
	if w.limited > 0 {
		return controller.Decision{RequeueAfter: w.limited}
	}
	if w.errorMessage != "" {
		return controller.Decision{RequeueAfter: shortRequeueInterval, Status: func() {
			state := condition.False("ServiceUnavailable", w.errorMessage)
			w.set(state)
			if len(w.check.Spec.Nodes) > 0 {
				w.setCounted(state)
			}
			if w.evictsNodes() {
				condition.Set(&w.check.Status.Conditions, conditionCordonedNodesEvacuated, w.check.Generation, w.now, state)
			}
		}}
	}
	// The checks of a control plane pass together, so that they share records.
	s := controller.Decision{RequeueAfter: max(interval(w.check)-w.now.Sub(w.startedAt), shortRequeueInterval), Status: w.report}
	// Nova searches a record in one cell after the other, so that it can delete none while the database of a cell does not respond.
	if stale := w.stale(); len(stale) > 0 && !w.isPartial() {
		s.Name, s.Note = "Removed", "removed the records of stopped processes: "+summary(stale)
		s.Action = w.outdate(w.remove(stale))
		return s
	}
	if stale := w.removableNodes(); len(stale) > 0 {
		var all []string
		for _, r := range stale {
			all = append(all, r.summary())
		}
		s.Name, s.Note = "NodeRecordsRemoved", "removed the records of removed nodes: "+strings.Join(all, "; ")
		s.Record, s.Action = true, w.outdate(w.clear(stale))
		return s
	}
	if summary, do := w.evict(); len(do) > 0 {
		s.Name, s.Note, s.RequeueAfter = "Evicting", strings.Join(summary, ", "), shortRequeueInterval
		s.Record, s.Action = true, w.outdate(all(do))
	} else if w.evicting() {
		s.RequeueAfter = shortRequeueInterval
	}
	return s
}

// outdate executes an action after which no check uses these records.
func (obs *observation) outdate(do controller.Action) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		obs.finishedAt = time.Time{}
		return do(ctx, env)
	}
}

// stale returns the records of processes that will not return.
func (obs *observation) stale() []compute.Service {
	if obs.check.Spec.Service == blockStorage { // Cinder has no request to remove a record.
		return nil
	}
	var out []compute.Service
	for _, s := range obs.services {
		if slices.ContainsFunc(obs.check.Spec.Processes, func(p openstackv1.CheckedProcess) bool { return obs.removable(s, p) }) {
			out = append(out, s)
		}
	}
	return out
}

// removable reports whether a record belongs to a pod of a StatefulSet that was scaled down.
func (obs *observation) removable(s compute.Service, p openstackv1.CheckedProcess) bool {
	name := string(p.StatefulSetName)
	of, exists := obs.sets[name]
	number, ok := parseOrdinal(s.Host, name)
	return exists && ok && of.replicas > 0 && number >= int64(of.first)+int64(of.replicas) && !of.pods[s.Host] &&
		s.Binary == p.Binary && s.Binary != compute.Compute && !s.Up
}

// parseOrdinal returns the ordinal in the name of a pod of a StatefulSet.
func parseOrdinal(pod, set string) (int64, bool) {
	text, ok := strings.CutPrefix(pod, set+"-")
	const base, bits = 10, 32
	number, err := strconv.ParseInt(text, base, bits)
	return number, ok && err == nil && number >= 0 && strconv.FormatInt(number, base) == text
}

// remove deletes records and counts them.
func (obs *observation) remove(stale []compute.Service) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		for _, s := range stale {
			if err := obs.removed(obs.nova.Delete(ctx, s.ID)); err != nil {
				return controller.Rejected("RejectedByService", err)
			}
		}
		return obs.count(ctx, env)
	}
}

// removed counts a removed record unless err is set.
func (obs *observation) removed(err error) error {
	if err == nil {
		removed.WithLabelValues(obs.check.Namespace, obs.check.Name).Inc()
		obs.check.Status.Removed++
	}
	return err
}

// count writes the number of removed records to the status.
func (obs *observation) count(ctx context.Context, env *controller.Env) error {
	if err := env.Client.Status().Update(ctx, obs.check); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	return nil
}

// report sets the status after a successful query.
func (obs *observation) report() {
	s := &obs.check.Status
	s.Up, s.Down, s.Binaries, s.Nodes, s.Capacity = 0, 0, nil, obs.records, obs.capacity
	s.Backends = obs.backends
	stale := obs.stale()
	for _, service := range obs.services {
		if slices.Contains(stale, service) || !obs.isRelevant(service) {
			continue
		}
		if service.Unknown {
			continue
		}
		b := obs.binary(service.Binary)
		if service.Up {
			s.Up++
			b.Up++
		} else {
			s.Down++
			b.Down++
		}
	}
	slices.SortFunc(s.Binaries, func(a, b openstackv1.BinaryState) int { return strings.Compare(a.Binary, b.Binary) })
	s.Binaries = s.Binaries[:min(len(s.Binaries), binaryLimit)]
	if len(obs.check.Spec.Nodes) > 0 {
		condition.Set(&s.Conditions, conditionRemovedNodesCleanedUp, obs.check.Generation, obs.now, obs.removedNodesCondition())
		obs.setCounted(obs.counted)
	} else {
		meta.RemoveStatusCondition(&s.Conditions, conditionCounted)
	}
	if obs.evictsNodes() {
		condition.Set(&s.Conditions, conditionCordonedNodesEvacuated, obs.check.Generation, obs.now, obs.evictionCondition())
	} else {
		meta.RemoveStatusCondition(&s.Conditions, conditionCordonedNodesEvacuated)
	}
	missing, unknown := obs.missing()
	backends, nodes := obs.backendsNotReporting(), obs.missingNodes()
	s.MissingNodeCount, s.MissingNodes = int32(len(nodes)), nodes[:min(len(nodes), missingNodeLimit)] //nolint:gosec // A count of nodes.
	some := missingnodes.Message(s.MissingNodes, len(nodes), len(obs.nodes.ownHosts))
	if some != "" && len(nodes) == len(obs.nodes.ownHosts) { // A part of the nodes is down in any large pool. The others run servers.
		missing = append(missing, some)
	}
	switch {
	case len(missing) > 0:
		obs.set(condition.False("ProcessesDown", strings.Join(append(missing, backends...), "; ")))
	case len(backends) > 0:
		obs.set(condition.False("BackendsNotReporting", strings.Join(backends, "; ")))
	case len(unknown) > 0:
		if some != "" {
			unknown = append(unknown, some)
		}
		obs.set(condition.Unknown("CellUnavailable", strings.Join(unknown, "; ")))
	case some != "":
		obs.set(condition.True("ProcessesUp", some))
	default:
		obs.set(condition.True("ProcessesUp", "all known processes report"))
	}
}

// isRelevant reports whether a process belongs to this check: all processes if the spec lists processes or no nodes,
// otherwise nova-compute on its nodes.
func (obs *observation) isRelevant(s compute.Service) bool {
	return len(obs.check.Spec.Processes) > 0 || len(obs.check.Spec.Nodes) == 0 || s.Binary == compute.Compute && obs.nodes.ownHosts[s.Host]
}

// binary returns the status entry of a binary, which is added if missing.
func (obs *observation) binary(name string) *openstackv1.BinaryState {
	all := &obs.check.Status.Binaries
	i := slices.IndexFunc(*all, func(b openstackv1.BinaryState) bool { return b.Binary == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, openstackv1.BinaryState{Binary: name})
	}
	return &(*all)[i]
}

// missing returns a message for each process of the spec that does not report, and messages for the processes and nodes whose state is
// unknown: Nova has no records of them while the database of their cell does not respond.
func (obs *observation) missing() (out, unknown []string) {
	var unresponsive []string
	for _, s := range obs.services {
		if s.Unknown && obs.isRelevant(s) {
			unresponsive = append(unresponsive, s.Host)
		}
	}
	if len(unresponsive) > 0 {
		slices.Sort(unresponsive)
		unknown = append(unknown, obs.unresponsiveCells(unresponsive))
	}
	for _, p := range obs.check.Spec.Processes {
		of, exists := obs.sets[string(p.StatefulSetName)]
		if !exists {
			out = append(out, fmt.Sprintf("StatefulSet %s does not exist", p.StatefulSetName))
			continue
		}
		notReporting, unrecorded := obs.notReporting(p, of, len(unresponsive) > 0)
		if len(notReporting) > 0 {
			out = append(out, fmt.Sprintf("%s does not report from %s", p.Binary, strings.Join(notReporting, ", ")))
		}
		if len(unrecorded) > 0 {
			unknown = append(unknown, fmt.Sprintf("Nova has no record of %s on %s", p.Binary, strings.Join(unrecorded, ", ")))
		}
	}
	return out, unknown
}

// notReporting returns the pods of a process that do not report. If the database of a cell does not respond (partial), those without a
// record are separate.
func (obs *observation) notReporting(p openstackv1.CheckedProcess, of set, partial bool) (notReporting, unrecorded []string) {
	for i := of.first; i < of.first+of.replicas; i++ {
		host := fmt.Sprintf("%s-%d", p.StatefulSetName, i)
		recorded, up := false, false
		for _, s := range obs.services {
			if s.Binary == p.Binary && s.Host == host {
				recorded, up = true, up || s.Up
			}
		}
		switch {
		case up:
		case !recorded && partial:
			unrecorded = append(unrecorded, host)
		default:
			notReporting = append(notReporting, host)
		}
	}
	return notReporting, unrecorded
}

func (obs *observation) set(s condition.State) {
	obs.check.Status.ObservedGeneration = obs.check.Generation
	condition.Set(&obs.check.Status.Conditions, conditionReady, obs.check.Generation, obs.now, s)
}

// evictsNodes reports whether nodes of the check are drained when they are cordoned.
func (obs *observation) evictsNodes() bool {
	return slices.ContainsFunc(obs.check.Spec.Nodes, func(n openstackv1.CheckedNodes) bool { return n.EvictOnCordon })
}

func (obs *observation) setCounted(s condition.State) {
	condition.Set(&obs.check.Status.Conditions, conditionCounted, obs.check.Generation, obs.now, s)
}

// summary lists records for messages.
func summary(records []compute.Service) string {
	var out []string
	for _, r := range records {
		out = append(out, r.Binary+" on "+r.Host)
	}
	return strings.Join(out, ", ")
}
