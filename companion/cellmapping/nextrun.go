package cellmapping

import (
	"fmt"
	"slices"
	"strings"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// listCacheTTL is how long a list is valid for the change that follows it. Jobs of other cells may run in between, but not
// for hours.
const listCacheTTL = time.Hour

// NextRun returns the next run; nil if nothing is to be done. It does not consider the time.
func (obs *observation) NextRun() *run {
	s := &obs.cell.Status
	switch {
	case obs.unknown():
		return obs.run(openstackv1.CellCommandListCells)
	case len(s.Found) == 0 && obs.cell.Spec.Cell == cell0:
		return obs.change(openstackv1.CellCommandMapCell0)
	case len(s.Found) == 0:
		return obs.change(openstackv1.CellCommandCreateCell)
	case len(s.Found) > 1 && obs.Now.Sub(s.Listed.Time) >= controller.ResyncInterval: // An administrator may have removed one.
		return obs.run(openstackv1.CellCommandListCells)
	case len(s.Found) > 1:
		return nil
	case !obs.isRecorded():
		return obs.change(openstackv1.CellCommandUpdateCell)
	case !obs.searching():
		return nil
	case s.Run.Command == openstackv1.CellCommandDiscoverHosts, s.Search.Attempts == 0: // Without attempts, the search only lists hosts.
		return obs.run(openstackv1.CellCommandListHosts)
	}
	return obs.change(openstackv1.CellCommandDiscoverHosts)
}

// unknown reports whether the cells must be listed before anything else, because they may have changed since the last list.
func (obs *observation) unknown() bool {
	s := &obs.cell.Status
	if s.Run == nil || s.Listed == nil || s.Listed.Time.Before(obs.started.Truncate(time.Second)) {
		return true
	}
	reported := []openstackv1.CellCommand{openstackv1.CellCommandMapCell0, openstackv1.CellCommandCreateCell,
		openstackv1.CellCommandUpdateCell}
	return slices.Contains(reported, s.Run.Command) || s.Run.Result != openstackv1.JobRunSucceeded || s.Run.Generation != obs.cell.Generation
}

// change returns a run that changes the cell. If the last run is not a recent list, it returns a list first.
func (obs *observation) change(command openstackv1.CellCommand) *run {
	last := obs.cell.Status.Run
	if last.Command != openstackv1.CellCommandListCells || obs.Now.Sub(obs.cell.Status.Listed.Time) >= listCacheTTL {
		return obs.run(openstackv1.CellCommandListCells)
	}
	return obs.run(command)
}

func (obs *observation) run(command openstackv1.CellCommand) *run {
	r := &run{
		JobRun: openstackv1.JobRun{Number: 1, Generation: obs.cell.Generation}, Command: command, Hash: appliedSpecHash(&obs.cell.Spec),
	}
	s := &obs.cell.Status
	if s.Run != nil {
		r.Number = s.Run.Number + 1
	}
	if len(s.Found) == 1 && command != openstackv1.CellCommandListCells {
		r.UUID = s.Found[0].UUID
	}
	return r
}

// isRecorded reports whether the cell in Nova matches the spec, and is still listed as it was after the last update.
func (obs *observation) isRecorded() bool {
	s := &obs.cell.Status
	return len(s.Found) == 1 && s.AppliedHash == appliedSpecHash(&obs.cell.Spec) && s.Found[0].Disabled == obs.cell.Spec.Disabled &&
		s.ListedHash == s.Found[0].Hash
}

// RejectReason returns why the cell is not reconciled; "" if it is.
func (obs *observation) RejectReason() string {
	if len(obs.cell.Spec.Template.Spec.Containers) == 0 {
		return "spec.template.spec.containers must not be empty: the first container runs nova-manage"
	}
	for i := range obs.siblings {
		if o := &obs.siblings[i]; o.Spec.Cell == obs.cell.Spec.Cell && earlier(o, obs.cell) {
			return fmt.Sprintf("CellMapping %s already manages %s of %s and is older: delete one of the two", o.Name, o.Spec.Cell, novaOf(o))
		}
	}
	return ""
}

// earlier orders two CellMappings of one cell. Any order is valid, as long as both see the same one.
func earlier(a, b *openstackv1.CellMapping) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// duplicateCells returns a message that lists the cells with the same name; "" if there is at most one.
func (obs *observation) duplicateCells() string {
	var all []string
	for _, f := range obs.cell.Status.Found {
		all = append(all, f.UUID)
	}
	if len(all) < 2 {
		return ""
	}
	slices.Sort(all)
	return fmt.Sprintf("Nova has %d cells named %s (%s), and none of them is changed: "+
		"find the one that has hosts and servers (nova-manage cell_v2 list_hosts --cell_uuid UUID), "+
		"and remove the others (nova-manage cell_v2 delete_cell --cell_uuid UUID)",
		len(all), obs.cell.Spec.Cell, strings.Join(all, ", "))
}
