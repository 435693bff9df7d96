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
)

// soon is how often it asks after a failure: and no pass, whatever woke it, asks more often than that.
const soon = controller.Poll

// binaryLimit is how many programs the status takes.
const binaryLimit = 32

// next decides.
func next(w *world) controller.Step {
	if w.limited > 0 {
		return controller.Step{After: w.limited}
	}
	if w.problem != "" {
		return controller.Step{After: soon, Status: func() { w.set(condition.False("ServiceUnavailable", w.problem)) }}
	}
	s := controller.Step{After: max(time.Duration(w.check.Spec.IntervalSeconds)*time.Second, soon), Status: w.report}
	if gone := w.gone(); len(gone) > 0 {
		s.Name, s.Note = "Removed", "removed the records of processes that will not come back: "+words(gone)
		s.Do = w.remove(gone)
		return s
	}
	if gone := w.removableNodes(); len(gone) > 0 {
		var all []string
		for _, r := range gone {
			all = append(all, r.words())
		}
		s.Name, s.Note = "Cleared", "removed what nodes that are gone have left: "+strings.Join(all, "; ")
		s.Record, s.Do = true, w.clear(gone)
		return s
	}
	if words, do := w.evict(); len(do) > 0 {
		s.Name, s.Note, s.After = "Evicting", strings.Join(words, ", "), soon
		s.Record, s.Do = true, all(do)
	} else if w.evicting() {
		s.After = soon
	}
	return s
}

// gone are the records of processes that will not come back.
func (w *world) gone() []compute.Service {
	if w.check.Spec.Service == blockStorage { // Cinder has no request that removes one.
		return nil
	}
	var out []compute.Service
	for _, s := range w.services {
		if slices.ContainsFunc(w.check.Spec.Processes, func(p openstackv1.CheckedProcess) bool { return w.removable(s, p) }) {
			out = append(out, s)
		}
	}
	return out
}

// removable: a record is one of a pod of a StatefulSet that was scaled away.
func (w *world) removable(s compute.Service, p openstackv1.CheckedProcess) bool {
	name := string(p.StatefulSetName)
	of, exists := w.sets[name]
	number, ok := numberOf(s.Host, name)
	return exists && ok && of.replicas > 0 && number >= int64(of.first)+int64(of.replicas) && !of.pods[s.Host] &&
		s.Binary == p.Binary && s.Binary != compute.Compute && !s.Up
}

// numberOf a pod of a StatefulSet, by its name.
func numberOf(pod, set string) (int64, bool) {
	text, ok := strings.CutPrefix(pod, set+"-")
	const base, bits = 10, 32
	number, err := strconv.ParseInt(text, base, bits)
	return number, ok && err == nil && number >= 0 && strconv.FormatInt(number, base) == text
}

// remove removes records, and counts them.
func (w *world) remove(gone []compute.Service) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		for _, s := range gone {
			if err := w.removed(w.nova.Delete(ctx, s.ID)); err != nil {
				return controller.Refused("ServiceRefuses", err)
			}
		}
		return w.count(ctx, env)
	}
}

// removed counts a record that was removed.
func (w *world) removed(err error) error {
	if err == nil {
		removed.WithLabelValues(w.check.Namespace, w.check.Name).Inc()
		w.check.Status.Removed++
	}
	return err
}

// count writes down how many were.
func (w *world) count(ctx context.Context, env *controller.Env) error {
	if err := env.Client.Status().Update(ctx, w.check); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	return nil
}

// report sets the status of an answer.
func (w *world) report() {
	s := &w.check.Status
	s.Up, s.Down, s.Binaries, s.Nodes, s.Capacity = 0, 0, nil, w.records, w.capacity
	s.Backends = w.backends
	gone := w.gone()
	for _, service := range w.services {
		if slices.Contains(gone, service) || !w.counts(service) {
			continue
		}
		b := w.binary(service.Binary)
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
	if len(w.check.Spec.Nodes) > 0 {
		condition.Set(&s.Conditions, conditionCleared, w.check.Generation, w.now, w.cleared())
	}
	if slices.ContainsFunc(w.check.Spec.Nodes, func(n openstackv1.CheckedNodes) bool { return n.EvictOnCordon }) {
		condition.Set(&s.Conditions, conditionEvicted, w.check.Generation, w.now, w.evicted())
	} else {
		meta.RemoveStatusCondition(&s.Conditions, conditionEvicted)
	}
	missing, silent := w.missing(), w.silent()
	switch {
	case len(missing) > 0:
		w.set(condition.False("ProcessesDown", strings.Join(append(missing, silent...), "; ")))
		return
	case len(silent) > 0:
		w.set(condition.False("BackendsSilent", strings.Join(silent, "; ")))
		return
	}
	w.set(condition.True("ProcessesUp", "every process that is known reports"))
}

// counts says whether a process is any of this check's business: where it knows nothing but nodes, those on them are.
func (w *world) counts(s compute.Service) bool {
	return len(w.check.Spec.Processes) > 0 || len(w.check.Spec.Nodes) == 0 || s.Binary == compute.Compute && w.nodes.own[s.Host]
}

// binary is the entry of a program in the status.
func (w *world) binary(name string) *openstackv1.BinaryState {
	all := &w.check.Status.Binaries
	i := slices.IndexFunc(*all, func(b openstackv1.BinaryState) bool { return b.Binary == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, openstackv1.BinaryState{Binary: name})
	}
	return &(*all)[i]
}

// missing says which processes that the spec names do not report.
func (w *world) missing() []string {
	var out []string
	for _, p := range w.check.Spec.Processes {
		of, exists := w.sets[string(p.StatefulSetName)]
		if !exists {
			out = append(out, fmt.Sprintf("StatefulSet %s does not exist", p.StatefulSetName))
			continue
		}
		var silent []string
		for i := of.first; i < of.first+of.replicas; i++ {
			host := fmt.Sprintf("%s-%d", p.StatefulSetName, i)
			if !slices.ContainsFunc(w.services, func(s compute.Service) bool { return s.Binary == p.Binary && s.Host == host && s.Up }) {
				silent = append(silent, host)
			}
		}
		if len(silent) > 0 {
			out = append(out, fmt.Sprintf("%s does not report from %s", p.Binary, strings.Join(silent, ", ")))
		}
	}
	return out
}

func (w *world) set(s condition.State) {
	w.check.Status.ObservedGeneration = w.check.Generation
	condition.Set(&w.check.Status.Conditions, conditionReady, w.check.Generation, w.now, s)
}

// words names records.
func words(records []compute.Service) string {
	var out []string
	for _, r := range records {
		out = append(out, r.Binary+" on "+r.Host)
	}
	return strings.Join(out, ", ")
}
