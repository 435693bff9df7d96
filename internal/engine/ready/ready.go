// Package ready defines the form of a readiness rule, which states when an object of a kind is ready. A rule has a check for the
// function, and the same check in CEL for provider-kubernetes. The engine is configured with the rules of all kinds; internal/readiness
// contains them.
package ready

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
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

// Rollout distinguishes a new version of a workload from other changes of its object, and defines how it is delayed.
type Rollout struct {
	// NewVersion reports whether the desired object is another version than the last desired one.
	NewVersion func(last, desired encoded.Struct) bool
	// Fields keep their values while a new version is delayed. All other fields change.
	Fields [][]string
	// Serving reports whether the running version serves. A version that does not serve is not kept.
	Serving func(o *observe.Object) bool
}

// Rules contains the rule of each kind that a function composes.
type Rules map[schema.GroupKind]Rule

// For returns the rule of a kind, and reports whether one exists.
func (r Rules) For(kind schema.GroupKind) (Rule, bool) {
	rule, ok := r[kind]
	return rule, ok
}

// Kinds returns all kinds that have a rule, in any order.
func (r Rules) Kinds() []schema.GroupKind { return slices.Collect(maps.Keys(r)) }
