package cellmapping

import (
	"cmp"
	"context"
	"fmt"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// judge decides how the run that was under way went. One that lists has succeeded when its list can be read.
func (w *world) judge(res batchjob.Result) *controller.Step {
	if res.Code == nil || *res.Code != 0 {
		return w.ended(openstackv1.CellRunFailed, res)
	}
	var note string
	var err error
	learned := w.cell.DeepCopy()
	after := &world{cell: learned, now: w.now}
	switch w.open().Command {
	case openstackv1.CellCommandListCells:
		err = after.learnCells(w.output)
	case openstackv1.CellCommandListHosts:
		err = after.learnHosts(w.output, w.open().UUID)
	case openstackv1.CellCommandMapCell0, openstackv1.CellCommandCreateCell:
		note = fmt.Sprintf("made %s known to Nova", w.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = w.open().Hash, ""
	case openstackv1.CellCommandUpdateCell:
		note = fmt.Sprintf("told Nova the addresses of %s, and whether it is disabled", w.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = w.open().Hash, ""
	case openstackv1.CellCommandDiscoverHosts: // What it has found, the list shows that follows.
	}
	if lists(w.open().Command) && w.unread {
		res.Why = "its output cannot be read"
		return w.ended(openstackv1.CellRunFailed, res)
	}
	if err != nil {
		res.Why = err.Error()
		return w.ended(openstackv1.CellRunFailed, res)
	}
	if before, now := w.cell.Status.HostCount, learned.Status.HostCount; before != now {
		note = fmt.Sprintf("%d hosts are mapped to %s, after %d", now, w.cell.Spec.Cell, before)
	}
	w.cell.Status = learned.Status
	s := w.ended(openstackv1.CellRunSucceeded, res)
	s.Note = note
	return s
}

func lists(c openstackv1.CellCommand) bool {
	return c == openstackv1.CellCommandListCells || c == openstackv1.CellCommandListHosts
}

// learnCells takes over what Nova lists.
func (w *world) learnCells(output string) error {
	found, err := foundCells(output, w.cell.Spec.Cell)
	if err != nil {
		return err
	}
	const limit = 16
	s := &w.cell.Status
	s.Found, s.Listed = found[:min(len(found), limit)], w.time()
	before := s.UUID
	if s.UUID = ""; len(found) == 1 {
		s.UUID = found[0].UUID
	}
	if s.UUID == "" || before != "" && before != s.UUID { // It is another one than was told, and whose hosts are known.
		s.HostCount, s.Hosts, s.OldestCompute, s.Search = 0, nil, nil, nil
		s.AppliedHash, s.ListedHash = "", ""
	}
	switch {
	case s.AppliedHash == "":
	case s.ListedHash == "":
		s.ListedHash = found[0].Hash
	case s.ListedHash != found[0].Hash && s.Search != nil: // Others have changed it, or a backup is restored: who knows about its hosts.
		s.Search = &openstackv1.HostSearch{}
	}
	return nil
}

// ended records how the run that was under way ended.
func (w *world) ended(result string, res batchjob.Result) *controller.Step {
	s := &controller.Step{Name: string(w.open().Command), Record: true, Expected: true, Status: func() {
		r := w.open()
		r.Result, r.ExitCode, r.Finished = result, res.Code, w.time()
		switch {
		case result != openstackv1.CellRunSucceeded:
			r.Failures++
			r.Log = batchjob.Excerpt(w.output + "\n" + res.Why)
		case r.Command != openstackv1.CellCommandListCells:
			r.Failures = 0
		}
		w.report()
	}}
	command := w.open().Command
	s.Do = func(context.Context, *controller.Env) error {
		runs.WithLabelValues(w.cell.Namespace, w.cell.Name, string(command), result).Inc()
		return nil
	}
	if result != openstackv1.CellRunSucceeded {
		s.Warning = result == openstackv1.CellRunFailed
		s.Note = fmt.Sprintf("%s of %s did not succeed: %s", command, w.cell.Spec.Cell,
			how(&run{ExitCode: res.Code, Log: batchjob.Excerpt(w.output + "\n" + res.Why)}))
	}
	return s
}

// how a run ended that did not succeed.
func how(r *run) string {
	const limit = 300
	line := condition.Cut(batchjob.LastLine(r.Log), limit)
	if r.ExitCode == nil || *r.ExitCode == 0 {
		return cmp.Or(line, "nobody knows how it ended")
	}
	if line == "" {
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return fmt.Sprintf("exit code %d, %s", *r.ExitCode, line)
}

// running says what is under way, and what keeps it from starting.
func (w *world) running(r *run) string {
	text := fmt.Sprintf("%s runs in Job %s", r.Command, w.job.Name)
	for _, p := range batchjob.PodsOf(w.job, w.pods) {
		if o := batchjob.Obstacle(&p); o != "" {
			return fmt.Sprintf("%s: its pod cannot start: %s", text, o)
		}
	}
	return text
}
