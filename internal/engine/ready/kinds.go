package ready

import (
	"cmp"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// backups: as they should be as long as the last one has not failed. One that runs, or is due later, is no reason to wait: that would
// be every night, and the first is hours away where a database is large.
func backups() Rule {
	const typ, failed = "Complete", "JobFailed"
	return Rule{
		Check: func(o *observe.Object) Result {
			switch c, ok := o.Condition(typ); {
			case !ok:
				return Wait("Waiting", "it does not report %s yet", typ)
			case c.Reason == failed:
				return Fail("BackupFailed", "the last backup failed, and its operator makes no other as long as its Job is there: "+
					"the logs of the Job's pods say why; delete the Job to go on")
			}
			return Yes
		},
		CEL: hasConditions +
			fmt.Sprintf("object.status.conditions.exists(c, c.type == '%s' && (!has(c.reason) || c.reason != '%s'))", typ, failed),
	}
}

// exists: done as soon as it is there.
func exists() Rule {
	return Rule{Check: func(*observe.Object) Result { return Yes }}
}

func clusterScoped(r Rule) Rule {
	r.ClusterScoped = true
	return r
}

// generated: what the API server generates in its spec is not applied again.
func generated(r Rule, paths ...[]string) Rule {
	r.Generated = paths
	return r
}

// podSelector is by what a Job finds its pods, which its API server generates and then neither lets go nor generates again. Who applies it
// once owns it, and takes it away with the next apply that does not name it: the Job could never be written again.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
var podSelector = [][]string{
	{"spec", "selector"},
	{"spec", "template", "metadata", "labels", "controller-uid"},
	{"spec", "template", "metadata", "labels", "job-name"},
	{"spec", "template", "metadata", "labels", batchv1.ControllerUidLabel},
	{"spec", "template", "metadata", "labels", batchv1.JobNameLabel},
}

// when: done when a field has a value.
func when(path, value string) Rule {
	fields := strings.Split(path, ".")
	return Rule{
		Check: func(o *observe.Object) Result {
			if got := o.String(fields...); got != value {
				return Wait("NotReady", "%s is %q, expected %q", path, got, value)
			}
			return Yes
		},
		CEL: celHasPath(fields) + fmt.Sprintf(" && object.%s == '%s'", path, value),
	}
}

// reached: done when the phase is Ready for the generation that is there now: an owner that works on the next one, or has failed to, may
// leave the phase of the last. Some say in a message how far they are.
func reached() Rule {
	const phase = "Ready"
	r := atGeneration(when("status.phase", phase))
	check := r.Check
	r.Check = func(o *observe.Object) Result {
		v := check(o)
		if is := o.String("status", "phase"); !v.Ready && is != "" && is != phase {
			return Wait(is, "%s", cmp.Or(o.String("status", "message"), fmt.Sprintf("its phase is %s, expected %s", is, phase)))
		}
		return v
	}
	return r
}

// celHasPath is the CEL that asks whether a path is there, level by level.
func celHasPath(fields []string) string {
	var has []string
	for i := range fields {
		has = append(has, "has(object."+strings.Join(fields[:i+1], ".")+")")
	}
	return strings.Join(has, " && ")
}

// atGeneration: only if status.observedGeneration is the current generation, where it is reported.
func atGeneration(r Rule) Rule {
	check := r.Check
	r.Check = func(o *observe.Object) Result {
		if observed, ok := o.Int("status", "observedGeneration"); ok && observed != o.Generation() {
			return Wait("Reconciling", "its controller has not seen the last change yet")
		}
		return check(o)
	}
	r.CEL += " && (!has(object.status.observedGeneration) || object.status.observedGeneration == object.metadata.generation)"
	return r
}

// hasConditions begins the CEL of what looks at conditions.
const hasConditions = "has(object.status) && has(object.status.conditions) && "

// celConditionTrue is the CEL that asks whether c is the condition of a type, true, and not about an older generation.
func celConditionTrue(typ string) string {
	return fmt.Sprintf("c.type == '%s' && c.status == 'True' && "+
		"(!has(c.observedGeneration) || c.observedGeneration == 0 || c.observedGeneration == object.metadata.generation)", typ)
}

// celNoCondition is the CEL that asks that no condition of these types has a status.
func celNoCondition(status string, types ...string) string {
	return fmt.Sprintf("!object.status.conditions.exists(c, c.type in ['%s'] && c.status == '%s')", strings.Join(types, "', '"), status)
}

// conditions: done when each of the conditions is true, and not about an older generation. An observedGeneration that the
// owner does not report (0) is no objection: several operators never do.
func conditions(types ...string) Rule {
	var cel []string
	for _, t := range types {
		cel = append(cel, fmt.Sprintf("object.status.conditions.exists(c, %s)", celConditionTrue(t)))
	}
	return Rule{
		Check: func(o *observe.Object) Result {
			for _, t := range types {
				if v := condition(o, t); !v.Ready {
					return v
				}
			}
			return Yes
		},
		CEL: hasConditions + strings.Join(cel, " && "),
	}
}

func condition(o *observe.Object, typ string) Result {
	c, ok := o.Condition(typ)
	switch {
	case !ok:
		return Wait("Waiting", "it does not report %s yet", typ)
	case c.Status != "True":
		return fromCondition(Wait, typ, c)
	case c.ObservedGeneration != 0 && c.ObservedGeneration != o.Generation():
		return Wait("Reconciling", "its controller has not seen the last change yet")
	}
	return Yes
}

// fromCondition is a verdict with the reason and message of a condition, if it has them.
func fromCondition(result func(reason, format string, args ...any) Result, typ string, c observe.Condition) Result {
	return result(cmp.Or(c.Reason, "NotReady"), "%s", cmp.Or(c.Message, fmt.Sprintf("%s is %s", typ, c.Status)))
}

// rollout: every pod runs the current template and is available.
func rollout() Rule {
	cel := "has(object.status) && has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation" +
		" && has(object.status.updatedReplicas) && object.status.updatedReplicas == object.spec.replicas" +
		" && has(object.status.availableReplicas) && object.status.availableReplicas == object.spec.replicas" +
		" && (!has(object.status.replicas) || object.status.replicas <= object.spec.replicas)"
	return Rule{
		Check: func(o *observe.Object) Result {
			want, ok := o.Int("spec", "replicas")
			if !ok {
				want = 1
			}
			observed, _ := o.Int("status", "observedGeneration")
			updated, _ := o.Int("status", "updatedReplicas")
			available, _ := o.Int("status", "availableReplicas")
			total, _ := o.Int("status", "replicas")
			switch {
			case observed != o.Generation():
				return Wait("Reconciling", "its controller has not seen the last change yet")
			case updated != want:
				return Wait("RollingOut", "%d of %d pods run the current version", updated, want)
			case total > want:
				return Wait("RollingOut", "%d old pods are still to be removed", total-want)
			case available != want:
				return Wait("PodsNotAvailable", "%d of %d pods are available", available, want)
			}
			return Yes
		},
		CEL:     cel,
		Rollout: podRollout("availableReplicas"),
	}
}

// everyNode: a pod is available on each node that wants one, and runs the current template, unless somebody else decides when that of a
// node is replaced (OnDelete). No node at all is fine: they come and go.
func everyNode() Rule {
	const onDelete = "OnDelete"
	return Rule{
		Check: func(o *observe.Object) Result {
			observed, _ := o.Int("status", "observedGeneration")
			want, _ := o.Int("status", "desiredNumberScheduled")
			updated, _ := o.Int("status", "updatedNumberScheduled")
			available, _ := o.Int("status", "numberAvailable")
			switch {
			case observed != o.Generation():
				return Wait("Reconciling", "its controller has not seen the last change yet")
			case updated != want && o.String("spec", "updateStrategy", "type") != onDelete:
				return Wait("RollingOut", "the pods of %d of %d nodes run the current version", updated, want)
			case available != want:
				return Wait("PodsNotAvailable", "the pods of %d of %d nodes are available", available, want)
			}
			return Yes
		},
		CEL: "has(object.status) && has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation" +
			" && has(object.status.desiredNumberScheduled)" +
			" && (has(object.spec.updateStrategy) && has(object.spec.updateStrategy.type) && object.spec.updateStrategy.type == '" + onDelete + "'" +
			" || " + reported("updatedNumberScheduled") + " == object.status.desiredNumberScheduled)" +
			" && " + reported("numberAvailable") + " == object.status.desiredNumberScheduled",
		Rollout: podRollout("numberAvailable"),
	}
}

// reported is the CEL of a number of the status, which is 0 where it is left out.
func reported(field string) string {
	return fmt.Sprintf("(has(object.status.%[1]s) ? object.status.%[1]s : 0)", field)
}

// job: ran to its end.
func job() Rule {
	return Rule{
		Check: func(o *observe.Object) Result {
			if c, ok := o.Condition("Failed"); ok && c.Status == "True" {
				return Fail("JobFailed", "%s; its pods' logs say why; delete the Job to run it again", cmp.Or(c.Message, "the Job failed"))
			}
			if c, ok := o.Condition("Complete"); ok && c.Status == "True" {
				return Yes
			}
			return Wait("JobRunning", "the Job has not finished yet")
		},
		CEL: hasConditions + "object.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True') && " + celNoCondition("True", "Failed"),
	}
}

// accepted: at least one Gateway has accepted the route, as it is now.
func accepted() Rule {
	return Rule{
		Check: func(o *observe.Object) Result {
			for _, p := range o.List("status", "parents") {
				parent, _ := p.(map[string]any)
				conds, _ := parent["conditions"].([]any)
				for _, c := range conds {
					m, _ := c.(map[string]any)
					observed := number(m, "observedGeneration")
					if m["type"] == "Accepted" && m["status"] == "True" && (observed == 0 || observed == o.Generation()) {
						return Yes
					}
				}
			}
			return Wait("NotAccepted", "no Gateway has accepted the route yet; check that the Gateway exists and allows routes from this namespace")
		},
		CEL: "has(object.status) && has(object.status.parents) && " +
			"object.status.parents.exists(p, p.conditions.exists(c, " + celConditionTrue("Accepted") + "))",
	}
}

// databaseSync: the schema serves the wanted release. Contract comes later and holds nothing up.
func databaseSync() Rule {
	r := conditions("Ready")
	check := r.Check
	r.Check = func(o *observe.Object) Result {
		if o.String("status", "phase") == "Failed" {
			c, _ := o.Condition("Ready")
			return Fail("SchemaFailed", "%s", cmp.Or(c.Message, "the schema Job failed"))
		}
		return check(o)
	}
	r.CEL += " && (!has(object.status.phase) || object.status.phase != 'Failed')"
	return r
}
