package readiness

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// backups returns a rule that is ready unless the last backup failed. A backup that runs or is due does not block: that would be every
// night, and the first backup of a large database takes hours.
func backups() ready.Rule {
	const typ, failed = "Complete", "JobFailed"
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			switch c, ok := o.Condition(typ); {
			case !ok:
				return ready.Wait("Waiting", "it does not report %s yet", typ)
			case c.Reason == failed:
				return ready.Fail("BackupFailed", "the last backup failed, and its operator does not start another while its Job exists:  "+
					"check the logs of the Job's pods; delete the Job to continue")
			}
			return ready.Yes
		},
		CEL: hasConditions +
			fmt.Sprintf("object.status.conditions.exists(c, c.type == '%s' && (!has(c.reason) || c.reason != '%s'))", typ, failed),
	}
}

// exists returns a rule that is ready as soon as the object exists.
func exists() ready.Rule {
	return ready.Rule{Check: func(*observe.Object) ready.Result { return ready.Yes }}
}

func clusterScoped(r ready.Rule) ready.Rule {
	r.ClusterScoped = true
	return r
}

// generated excludes the given fields, which the API server generates in the spec, when an observed object is applied again.
func generated(r ready.Rule, paths ...[]string) ready.Rule {
	r.Generated = paths
	return r
}

// podSelector lists the fields with which a Job finds its pods. The API server generates them once and then requires them. A manager that
// applies them owns them, and its next apply without them removes them: the Job could never be updated again.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
var podSelector = [][]string{
	{"spec", "selector"},
	{"spec", "template", "metadata", "labels", "controller-uid"},
	{"spec", "template", "metadata", "labels", "job-name"},
	{"spec", "template", "metadata", "labels", batchv1.ControllerUidLabel},
	{"spec", "template", "metadata", "labels", batchv1.JobNameLabel},
}

// when returns a rule that is ready when a field has a value.
func when(path, value string) ready.Rule {
	fields := strings.Split(path, ".")
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			if got := o.String(fields...); got != value {
				return ready.Wait("NotReady", "%s is %q, expected %q", path, got, value)
			}
			return ready.Yes
		},
		CEL: celHasPath(fields) + fmt.Sprintf(" && object.%s == '%s'", path, value),
	}
}

// reached returns a rule that is ready when the phase is Ready for the current generation: while a controller works on the next generation,
// or after it failed, it may leave the previous phase. Some controllers report progress in a message.
func reached() ready.Rule {
	const phase = "Ready"
	r := atGeneration(when("status.phase", phase))
	check := r.Check
	r.Check = func(o *observe.Object) ready.Result {
		v := check(o)
		if is := o.String("status", "phase"); !v.Ready && is != "" && is != phase {
			return ready.Wait(is, "%s", cmp.Or(o.String("status", "message"), fmt.Sprintf("its phase is %s, expected %s", is, phase)))
		}
		return v
	}
	return r
}

// celHasPath returns a CEL expression that tests each level of a path for existence.
func celHasPath(fields []string) string {
	var has []string
	for i := range fields {
		has = append(has, "has(object."+strings.Join(fields[:i+1], ".")+")")
	}
	return strings.Join(has, " && ")
}

// atGeneration returns r with the requirement that status.observedGeneration, if reported, is the current generation.
func atGeneration(r ready.Rule) ready.Rule {
	check := r.Check
	r.Check = func(o *observe.Object) ready.Result {
		if observed, ok := o.Int("status", "observedGeneration"); ok && observed != o.Generation() {
			return ready.Wait("Reconciling", "its controller has not seen the last change yet")
		}
		return check(o)
	}
	r.CEL += " && (!has(object.status.observedGeneration) || object.status.observedGeneration == object.metadata.generation)"
	return r
}

// hasConditions is the prefix of CEL expressions that read conditions.
const hasConditions = "has(object.status) && has(object.status.conditions) && "

// celConditionTrue returns a CEL expression that tests whether c has the type, is true, and does not refer to an older generation.
func celConditionTrue(typ string) string {
	return fmt.Sprintf("c.type == '%s' && c.status == 'True' && "+
		"(!has(c.observedGeneration) || c.observedGeneration == 0 || c.observedGeneration == object.metadata.generation)", typ)
}

// celNoCondition returns a CEL expression that tests that no condition of these types has a status.
func celNoCondition(status string, types ...string) string {
	return fmt.Sprintf("!object.status.conditions.exists(c, c.type in ['%s'] && c.status == '%s')", strings.Join(types, "', '"), status)
}

// conditions returns a rule that is ready when each of the conditions is true and does not refer to an older generation. Several operators
// never report observedGeneration (0), so that value is accepted.
func conditions(types ...string) ready.Rule {
	var cel []string
	for _, t := range types {
		cel = append(cel, fmt.Sprintf("object.status.conditions.exists(c, %s)", celConditionTrue(t)))
	}
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			for _, t := range types {
				if v := condition(o, t); !v.Ready {
					return v
				}
			}
			return ready.Yes
		},
		CEL: hasConditions + strings.Join(cel, " && "),
	}
}

func condition(o *observe.Object, typ string) ready.Result {
	c, ok := o.Condition(typ)
	switch {
	case !ok:
		return ready.Wait("Waiting", "it does not report %s yet", typ)
	case c.Status != "True":
		return fromCondition(ready.Wait, typ, c)
	case c.ObservedGeneration != 0 && c.ObservedGeneration != o.Generation():
		return ready.Wait("Reconciling", "its controller has not seen the last change yet")
	}
	return ready.Yes
}

// fromCondition returns a result with the reason and message of a condition, or with defaults.
func fromCondition(result func(reason, format string, args ...any) ready.Result, typ string, c observe.Condition) ready.Result {
	return result(cmp.Or(c.Reason, "NotReady"), "%s", cmp.Or(c.Message, fmt.Sprintf("%s is %s", typ, c.Status)))
}

// rollout returns a rule that is ready when every pod runs the current template and is available.
func rollout() ready.Rule {
	cel := "has(object.status) && has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation" +
		" && has(object.status.updatedReplicas) && object.status.updatedReplicas == object.spec.replicas" +
		" && has(object.status.availableReplicas) && object.status.availableReplicas == object.spec.replicas" +
		" && (!has(object.status.replicas) || object.status.replicas <= object.spec.replicas)"
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
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
				return ready.Wait("Reconciling", "its controller has not seen the last change yet")
			case updated != want:
				return ready.Wait("RollingOut", "%d of %d pods run the current version", updated, want)
			case total > want:
				return ready.Wait("RollingOut", "%d old pods are still to be removed", total-want)
			case available != want:
				return ready.Wait("PodsNotAvailable", "%d of %d pods are available", available, want)
			}
			return ready.Yes
		},
		CEL:     cel,
		Rollout: podRollout("availableReplicas"),
	}
}

// MaxUnavailableAnnotation of a DaemonSet is the percentage of its nodes that may be unavailable while it is ready. Without it, each node
// must be available. It is separate from the update strategy, which has no such field with OnDelete.
const MaxUnavailableAnnotation = "crossplane.c5c3.io/max-unavailable"

// NodesSuffice reports whether enough of the nodes are available, at least one, if a percentage of them may be unavailable.
func NodesSuffice(available, nodes, maxUnavailable int64) bool {
	const whole = 100
	return available >= max((whole-maxUnavailable)*nodes/whole, min(nodes, 1))
}

// nodes returns a rule that is ready when enough eligible nodes have an available pod, at least one, and the nodes without the current
// template are at most as many as the unavailable ones: in a large fleet, some nodes are always down. With the update strategy OnDelete,
// the template is not compared. No nodes at all is ready, because nodes are added and removed.
func nodes() ready.Rule {
	const onDelete = "OnDelete"
	annotation := "object.metadata.annotations['" + MaxUnavailableAnnotation + "']"
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			observed, _ := o.Int("status", "observedGeneration")
			want, reported := o.Int("status", "desiredNumberScheduled")
			updated, _ := o.Int("status", "updatedNumberScheduled")
			available, _ := o.Int("status", "numberAvailable")
			tolerated, err := strconv.ParseInt(o.Annotation(MaxUnavailableAnnotation), 10, 64)
			if err != nil {
				tolerated = 0
			}
			switch {
			case observed != o.Generation() || !reported:
				return ready.Wait("Reconciling", "its controller has not seen the last change yet")
			case updated < available && o.String("spec", "updateStrategy", "type") != onDelete:
				return ready.Wait("RollingOut", "the pods of %d of %d nodes run the current version", updated, want)
			case !NodesSuffice(available, want, tolerated):
				return ready.Wait("PodsNotAvailable", "the pods of %d of %d nodes are available", available, want)
			}
			return ready.Yes
		},
		CEL: "has(object.status) && has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation" +
			" && has(object.status.desiredNumberScheduled)" +
			" && (has(object.spec.updateStrategy) && has(object.spec.updateStrategy.type) && object.spec.updateStrategy.type == '" + onDelete + "'" +
			" || " + reported("updatedNumberScheduled") + " >= " + reported("numberAvailable") + ")" +
			" && (object.status.desiredNumberScheduled == 0 || " + reported("numberAvailable") + " > 0)" +
			" && " + reported("numberAvailable") + " >= (100 - (has(object.metadata.annotations) && '" + MaxUnavailableAnnotation +
			"' in object.metadata.annotations ? int(string(" + annotation + ")) : 0)) * int(object.status.desiredNumberScheduled) / 100",
		Rollout: podRollout("numberAvailable"),
	}
}

// reported returns a CEL expression for a number in the status, which is 0 if it is missing.
func reported(field string) string {
	return fmt.Sprintf("(has(object.status.%[1]s) ? object.status.%[1]s : 0)", field)
}

// job returns a rule that is ready when the Job is complete.
func job() ready.Rule {
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			if c, ok := o.Condition("Failed"); ok && c.Status == "True" {
				return ready.Fail("JobFailed", "%s; check the logs of its pods; delete the Job to run it again", cmp.Or(c.Message, "the Job failed"))
			}
			if c, ok := o.Condition("Complete"); ok && c.Status == "True" {
				return ready.Yes
			}
			return ready.Wait("JobRunning", "the Job has not finished yet")
		},
		CEL: hasConditions + "object.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True') && " + celNoCondition("True",
			"Failed"),
	}
}

// accepted returns a rule that is ready when at least one Gateway has accepted the current generation of the route.
func accepted() ready.Rule {
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			for _, p := range o.List("status", "parents") {
				parent, _ := p.(map[string]any)
				conds, _ := parent["conditions"].([]any)
				for _, c := range conds {
					m, _ := c.(map[string]any)
					observed := number(m, "observedGeneration")
					if m["type"] == "Accepted" && m["status"] == "True" && (observed == 0 || observed == o.Generation()) {
						return ready.Yes
					}
				}
			}
			return ready.Wait("NotAccepted", "no Gateway has accepted the route yet; check that the Gateway exists and allows routes from "+
				"this namespace")
		},
		CEL: "has(object.status) && has(object.status.parents) && " +
			"object.status.parents.exists(p, p.conditions.exists(c, " + celConditionTrue("Accepted") + "))",
	}
}

// databaseSync returns a rule that is ready when the schema serves the requested release. Contraction runs later and does not block.
func databaseSync() ready.Rule {
	r := conditions("Ready")
	check := r.Check
	r.Check = func(o *observe.Object) ready.Result {
		if o.String("status", "phase") == "Failed" {
			c, _ := o.Condition("Ready")
			return ready.Fail("SchemaFailed", "%s", cmp.Or(c.Message, "the schema Job failed"))
		}
		return check(o)
	}
	r.CEL += " && (!has(object.status.phase) || object.status.phase != 'Failed')"
	return r
}
