package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
)

// Outcome is the measured effect of an edit.
type Outcome struct {
	// Workloads are the names of the workloads that had pods before the edit, as "<Kind> <name>". Restarted is the subset whose pods were
	// replaced.
	Workloads, Restarted []string
	// Loss is the measured loss of requests by service. Services without clients are missing.
	Loss map[string]Loss
}

// Loss counts the requests to a service during an edit.
type Loss struct {
	// Requests is the number of all requests, including the Failed ones.
	Requests, Failed int
	// Longest is the longest time in which all requests of a client failed.
	Longest time.Duration
}

// degradedFor is the longest time without a response that is still a degradation: after it, a client with a retry has an error. Texts of
// plans promise up to 6 s.
const degradedFor = 6 * time.Second

// Level returns the verdict that would have described the loss.
func (l Loss) Level() plan.Level {
	switch {
	case l.Failed == 0:
		return plan.NoInterruption
	case l.Longest <= degradedFor:
		return plan.Degraded
	}
	return plan.Interrupted
}

// String returns the counts.
func (l Loss) String() string {
	if l.Failed == 0 {
		return fmt.Sprintf("0 of %d", l.Requests)
	}
	return fmt.Sprintf("%d of %d, up to %.1f s", l.Failed, l.Requests, l.Longest.Seconds())
}

// severity orders the levels of requests: data at risk is not measured by requests.
var severity = []plan.Level{plan.NoInterruption, plan.Degraded, plan.Interrupted}

// Compare returns the wrong predictions of a plan: workloads that restart and are not named, or are named and do not restart, and services
// with a worse outcome than their verdict. Pessimistic verdicts, which are worse than the outcome, are no mistakes.
func Compare(p *plan.Plan, o Outcome) (wrong, pessimistic []string) {
	wrong = unplanned(p, o)
	for _, w := range plannedRestarts(p, o.Workloads) {
		if !slices.Contains(o.Restarted, w) {
			wrong = append(wrong, w+" does not restart, and the plan names it")
		}
	}
	for _, service := range slices.Sorted(maps.Keys(o.Loss)) {
		loss := o.Loss[service]
		at := slices.IndexFunc(p.Verdicts, func(v plan.Verdict) bool { return v.Subject == service })
		if at < 0 {
			wrong = append(wrong, service+" has no verdict")
			continue
		}
		expected, observed := slices.Index(severity, p.Verdicts[at].Level), slices.Index(severity, loss.Level())
		text := fmt.Sprintf("%s: %s, and the requests that failed were %s", service, p.Verdicts[at].Level, loss)
		switch {
		case expected < 0: // It predicts nothing about requests.
		case observed > expected:
			wrong = append(wrong, text)
		case observed < expected:
			pessimistic = append(pessimistic, text)
		}
	}
	return wrong, pessimistic
}

// unplanned returns the restarts that a plan does not name.
func unplanned(p *plan.Plan, o Outcome) []string {
	var out []string
	planned := plannedRestarts(p, o.Workloads)
	for _, w := range o.Restarted {
		if !slices.Contains(planned, w) {
			out = append(out, w+" restarts, and the plan does not name it")
		}
	}
	return out
}

// plannedRestarts returns the subset of some workloads whose pods a plan replaces. Pods that an operator has to delete stay.
func plannedRestarts(p *plan.Plan, workloads []string) []string {
	var out []string
	for _, c := range p.Claims {
		for _, r := range c.Restarts {
			if name := workloadOf(r); r.Overlap != plan.OverlapManual && slices.Contains(workloads, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// workloadOf returns the workload of a restart: operators create StatefulSets with these names.
func workloadOf(r plan.Restart) string {
	switch r.Kind {
	case "MariaDB":
		return "StatefulSet " + r.Name
	case "RabbitmqCluster":
		return "StatefulSet " + r.Name + "-server"
	}
	return r.Kind + " " + r.Name
}

// Verdicts returns the verdicts of a plan that are worse than no interruption.
func Verdicts(p *plan.Plan) string {
	var out []string
	for _, v := range p.Verdicts {
		if v.Level != plan.NoInterruption {
			out = append(out, fmt.Sprintf("%s: %s", v.Subject, v.Level))
		}
	}
	if len(out) == 0 {
		return string(plan.NoInterruption)
	}
	return strings.Join(out, ", ")
}
