package cellmapping

import (
	"fmt"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// EvaluateRun determines the result of the run in progress. A list has succeeded if its output can be parsed.
func (obs *observation) EvaluateRun(res batchjob.Result) *controller.Decision {
	var note string
	var err error
	r := obs.cell.Status.Run
	learned := obs.cell.DeepCopy()
	after := &observation{cell: learned, Observation: batchjob.Observation{Now: obs.Now}}
	switch r.Command {
	case openstackv1.CellCommandListCells:
		err = after.learnCells(obs.Output)
	case openstackv1.CellCommandListHosts:
		err = after.learnHosts(obs.Output, r.UUID)
	case openstackv1.CellCommandMapCell0, openstackv1.CellCommandCreateCell:
		note = fmt.Sprintf("registered %s in Nova", obs.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = r.Hash, ""
	case openstackv1.CellCommandUpdateCell:
		note = fmt.Sprintf("updated the addresses of %s in Nova, and whether it is disabled", obs.cell.Spec.Cell)
		learned.Status.AppliedHash, learned.Status.ListedHash = r.Hash, ""
	case openstackv1.CellCommandDiscoverHosts: // The result is in the list that follows.
	}
	if lists(r.Command) && obs.OutputUnreadable {
		res.FailureMessage = "its output cannot be read"
		return obs.FailRun(openstackv1.JobRunFailed, res)
	}
	if err != nil {
		res.FailureMessage = err.Error()
		return obs.FailRun(openstackv1.JobRunFailed, res)
	}
	if before, now := obs.cell.Status.HostCount, learned.Status.HostCount; before != now {
		note = fmt.Sprintf("%d hosts are mapped to %s, previously %d", now, obs.cell.Spec.Cell, before)
	}
	obs.cell.Status = learned.Status
	s := batchjob.EndRun(obs, openstackv1.JobRunSucceeded, res, "", func() {
		if r := obs.cell.Status.Run; r.Command != openstackv1.CellCommandListCells {
			r.Failures = 0
		}
	})
	s.Note = note
	return s
}

// FailRun records that the run in progress has failed or is lost.
func (obs *observation) FailRun(result string, res batchjob.Result) *controller.Decision {
	return batchjob.EndRun(obs, result, res, obs.Command()+" of "+obs.cell.Spec.Cell, func() {})
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
	s.Found, s.Listed = found[:min(len(found), limit)], obs.Time()
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
