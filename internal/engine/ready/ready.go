// Package ready defines when an object of each composed kind is ready: one row of a table for each kind. A row has a check for the
// function, and the same check in CEL for provider-kubernetes. The statuses that owners write are in internal/offline/fake, which does
// not use this table.
//
// A check accepts a condition only for the object's current generation. It does not check whether the object is up to date and not being
// deleted: compose does that first.
package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// Result is the readiness of an object.
type Result struct {
	// Ready: the object is ready.
	Ready bool
	// Failed: the object cannot become ready without intervention.
	Failed bool
	// Reason is a CamelCase word, Message a sentence: why the object is not ready.
	Reason, Message string
	// Propagated: the message is from a component of the object, and already contains the name of the affected object.
	Propagated bool
}

// Yes is the result for a ready object.
var Yes = Result{Ready: true, Reason: "Ready"}

// Wait returns the result for an object that is not ready yet.
func Wait(reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Fail returns the result for an object that cannot become ready without intervention.
func Fail(reason, format string, args ...any) Result {
	return Result{Failed: true, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Check evaluates an observed object.
type Check func(o *observe.Object) Result

// Rule defines readiness and rollout of one kind.
type Rule struct {
	// Check evaluates an observed object.
	Check Check
	// CEL is an equivalent check, and that the object is not being deleted, as an expression over `object`, for an Object's
	// readiness policy. Empty: the object only has to exist.
	CEL string
	// Generated lists the fields that the API server generates in the spec. They are removed when an observed object is applied again.
	Generated [][]string
	// ClusterScoped: objects of the kind have no namespace.
	ClusterScoped bool
	// Rollout defines how a new version is delayed. Nil: the kind runs no workload.
	Rollout *Rollout
	// Composite: the kind is a composite resource of this project.
	Composite bool
}

// For returns the rule of a kind, and reports whether one exists.
func For(kind schema.GroupKind) (Rule, bool) {
	r, ok := rules[kind]
	return r, ok
}

// Kinds returns all kinds that have a rule.
func Kinds() []schema.GroupKind {
	out := make([]schema.GroupKind, 0, len(rules))
	for k := range rules {
		out = append(out, k)
	}
	return out
}
