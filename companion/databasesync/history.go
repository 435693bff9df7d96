package databasesync

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// maxRecords is the maximum number of records in a status (the limit of the CRD).
const maxRecords = 64

// Backoff between attempts of a step that fails: 10 s, doubled each time, up to 10 minutes.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

type record = openstackv1.StepRecord

func phaseOf(r *record) phase {
	p, _, _ := strings.Cut(r.Step, phaseDivider)
	return phase(p)
}

// open returns the attempt in progress, which is always the last one; nil if none exists.
func open(history []record) *record {
	if n := len(history); n > 0 && history[n-1].Result == "" {
		return &history[n-1]
	}
	return nil
}

// latest returns the last attempt of a step; nil if none exists.
func latest(history []record, hash string) *record {
	for i := range slices.Backward(history) {
		if history[i].Hash == hash {
			return &history[i]
		}
	}
	return nil
}

// done reports whether a step has succeeded. Schema changes for one release no longer count after a schema change for another
// release.
func done(history []record, s step) bool {
	for i := range slices.Backward(history) {
		r := &history[i]
		switch {
		case r.Hash == s.hash && r.Result == openstackv1.StepSucceeded:
			return true
		case s.phase.changesSchema() && phaseOf(r).changesSchema() && r.Release != s.release:
			return false
		}
	}
	return false
}

// failures returns the number of failed attempts of a step for a request.
func failures(history []record, s step, request string) int32 {
	n := int32(0)
	for i := range history {
		if r := &history[i]; r.Hash == s.hash && r.Request == request && r.Result == openstackv1.StepFailed {
			n++
		}
	}
	return n
}

// reached returns the newest release to which steps have started to upgrade the schema, and their phase; "" if no step ran
// yet.
func reached(history []record) (release string, by phase) {
	for i := range slices.Backward(history) {
		if p := phaseOf(&history[i]); p.changesSchema() {
			return history[i].Release, p
		}
	}
	return "", ""
}

// appendAttempt returns the history with one more attempt. It replaces an attempt of the same step with the result Repeat: a
// migration may take thousands of them.
func appendAttempt(history []record, r record) []record {
	out := slices.Clone(history)
	if n := len(out); n > 0 && out[n-1].Hash == r.Hash && out[n-1].Result == openstackv1.StepRepeat {
		out = out[:n-1]
	}
	return trimmed(append(out, r))
}

// trimmed limits the length of a history: attempts followed by a newer attempt of the step are removed first, then the
// oldest ones.
func trimmed(history []record) []record {
	for len(history) > maxRecords {
		i := max(0, slices.IndexFunc(history, func(r record) bool { return latest(history, r.Hash).Attempt > r.Attempt }))
		history = slices.Delete(history, i, i+1)
	}
	return history
}

// completeAttempt returns the history with the result of the last attempt. Only the latest failure of a step keeps its log.
func completeAttempt(history []record, result string, code *int32, log string, at time.Time) []record {
	out := slices.Clone(history)
	last := &out[len(out)-1]
	for i := range out {
		if out[i].Hash == last.Hash {
			out[i].Log = ""
		}
	}
	last.Result, last.ExitCode, last.Log, last.Finished = result, code, log, &metav1.Time{Time: at}
	return out
}
