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

// evaluateRun determines the result of the run in progress. A list has succeeded if its output can be parsed.
func (obs *observation) evaluateRun(res batchjob.Result) *controller.Decision {
	if res.Code == nil || *res.Code != 0 {
		return obs.finishedStep(openstackv1.CellRunFailed, res)
	}
	var note string
	var err error
	learned := obs.cell.DeepCopy()
	after := &observation{cell: learned, now: obs.now}
	switch obs.open().Command {
	case openstackv1.CellCommandListCells:
		err = after.learnCells(obs.output)
	case openstackv1.CellCommandListHosts:
		err = after.learnHosts(obs.output, obs.open().UUID)
	case openstackv1.CellCommandMapCell0, openstackv1.CellCommandCreateCell:
		note = fmt.Sprintf("registered %s in Nova", obs.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = obs.open().Hash, ""
	case openstackv1.CellCommandUpdateCell:
		note = fmt.Sprintf("updated the addresses of %s in Nova, and whether it is disabled", obs.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = obs.open().Hash, ""
	case openstackv1.CellCommandDiscoverHosts: // The result is in the list that follows.
	}
	if lists(obs.open().Command) && obs.outputUnreadable {
		res.FailureMessage = "its output cannot be read"
		return obs.finishedStep(openstackv1.CellRunFailed, res)
	}
	if err != nil {
		res.FailureMessage = err.Error()
		return obs.finishedStep(openstackv1.CellRunFailed, res)
	}
	if before, now := obs.cell.Status.HostCount, learned.Status.HostCount; before != now {
		note = fmt.Sprintf("%d hosts are mapped to %s, previously %d", now, obs.cell.Spec.Cell, before)
	}
	obs.cell.Status = learned.Status
	s := obs.finishedStep(openstackv1.CellRunSucceeded, res)
	s.Note = note
	return s
}

func lists(c openstackv1.CellCommand) bool {
	return c == openstackv1.CellCommandListCells || c == openstackv1.CellCommandListHosts
}

// learnCells records the listed cells.
func (obs *observation) learnCells(output string) error {
	found, err := parseCells(output, obs.cell.Spec.Cell)
	if err != nil {
		return err
	}
	const limit = 16
	s := &obs.cell.Status
	s.Found, s.Listed = found[:min(len(found), limit)], obs.time()
	before := s.UUID
	if s.UUID = ""; len(found) == 1 {
		s.UUID = found[0].UUID
	}
	if s.UUID == "" || before != "" && before != s.UUID { // A different cell than the one that was configured and whose hosts are recorded.
		s.HostCount, s.Hosts, s.OldestCompute, s.Search = 0, nil, nil, nil
		s.AppliedHash, s.ListedHash = "", ""
	}
	switch {
	case s.AppliedHash == "":
	case s.ListedHash == "":
		s.ListedHash = found[0].Hash
	case s.ListedHash != found[0].Hash && s.Search != nil: // Others have changed it, or a backup was restored: its hosts may have changed.
		s.Search = &openstackv1.HostSearch{}
	}
	return nil
}

// finishedStep records the result of the run in progress.
func (obs *observation) finishedStep(result string, res batchjob.Result) *controller.Decision {
	s := &controller.Decision{Name: string(obs.open().Command), Record: true, Expected: true, Status: func() {
		r := obs.open()
		r.Result, r.ExitCode, r.Finished = result, res.Code, obs.time()
		switch {
		case result != openstackv1.CellRunSucceeded:
			r.Failures++
			r.Log = batchjob.TailForStatus(obs.output + "\n" + res.FailureMessage)
		case r.Command != openstackv1.CellCommandListCells:
			r.Failures = 0
		}
		obs.report()
	}}
	command := obs.open().Command
	s.Action = func(context.Context, *controller.Env) error {
		runs.WithLabelValues(obs.cell.Namespace, obs.cell.Name, string(command), result).Inc()
		return nil
	}
	if result != openstackv1.CellRunSucceeded {
		s.Warning = result == openstackv1.CellRunFailed
		s.Note = fmt.Sprintf("%s of %s failed: %s", command, obs.cell.Spec.Cell,
			failureMessage(&run{ExitCode: res.Code, Log: batchjob.TailForStatus(obs.output + "\n" + res.FailureMessage)}))
	}
	return s
}

// failureMessage returns a short reason for the failure of a run.
func failureMessage(r *run) string {
	const limit = 300
	line := condition.Truncate(batchjob.LastLine(r.Log), limit)
	if r.ExitCode == nil || *r.ExitCode == 0 {
		return cmp.Or(line, "the result of the run is unknown")
	}
	if line == "" {
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return fmt.Sprintf("exit code %d, %s", *r.ExitCode, line)
}

// running describes the run in progress, and why its pod cannot start.
func (obs *observation) running(r *run) string {
	text := fmt.Sprintf("%s runs in Job %s", r.Command, obs.job.Name)
	for _, p := range batchjob.ListPods(obs.job, obs.pods) {
		if o := batchjob.PodStartProblem(&p); o != "" {
			return fmt.Sprintf("%s: its pod cannot start: %s", text, o)
		}
	}
	return text
}
