package cellmapping

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next returns the step of the first rule that has one.
func next(w *observation) controller.Decision {
	return controller.First([]func(*observation) *controller.Decision{
		batchjob.FinishRun[*observation], batchjob.AdoptJob[*observation], rejectSpec, batchjob.StartRun[*observation], look, rest,
	}, w)
}

// rejectSpec changes nothing if an administrator has to decide.
func rejectSpec(w *observation) *controller.Decision {
	if why := w.RejectReason(); why != "" {
		return &controller.Decision{RequeueAfter: controller.Poll, Status: func() { w.set(conditionReady, false, "InvalidSpec", why) }}
	}
	if why := w.duplicateCells(); why != "" && w.NextRun() == nil {
		at := w.cell.Status.Listed.Add(controller.ResyncInterval)
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.Now), Status: func() {
			w.set(conditionReady, false, "AmbiguousCell", why)
		}}
	}
	return nil
}

// rest reports the status when idle.
func rest(w *observation) *controller.Decision {
	after := controller.ResyncInterval
	switch {
	case w.retryAfter > 0:
		after = w.retryAfter
	case w.apiError != "":
		after = pollInterval
	}
	return &controller.Decision{RequeueAfter: after, Status: func() {
		w.Report("")
		if w.apiError != "" {
			w.set(conditionHosts, false, "NovaUnavailable", w.apiError)
		}
	}}
}

// WaitsFor returns which cell the next run waits for.
func (obs *observation) WaitsFor(owner string) string {
	return fmt.Sprintf("waiting for Job %s of CellMapping %s to end", obs.Name, owner)
}
