// Package ready knows, for every kind that we emit, what its owner says when it is done: one row of one table for each
// kind. A row holds the check of the function, and the same question in CEL for provider-kubernetes. What owners write is in
// internal/offline/fake, which does not know this table.
//
// A check trusts a condition only at the object's current generation. Whether the object is up to date and not being deleted is not its
// business: compose checks that first.
package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// Result is the answer to "is it ready?".
type Result struct {
	// Ready says that it is.
	Ready bool
	// Failed says that it will not become ready by waiting.
	Failed bool
	// Reason is one word, Message a sentence: what it waits for or what went wrong.
	Reason, Message string
	// Propagated says that the message is that of a component of the object, and already names the object that it is about.
	Propagated bool
}

// Yes is the verdict on what is ready.
var Yes = Result{Ready: true, Reason: "Ready"}

// Wait is the verdict on what is not ready yet.
func Wait(reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Fail is the verdict on what will not become ready by waiting.
func Fail(reason, format string, args ...any) Result {
	return Result{Failed: true, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Check returns the verdict on an observed object.
type Check func(o *observe.Object) Result

// Rule is what is known of one kind.
type Rule struct {
	// Check returns the verdict.
	Check Check
	// CEL is the same check, and that the object is not being deleted, as an expression over `object`, for an Object's
	// readiness policy. Empty: existing is enough.
	CEL string
	// Generated are the fields that the API server generates in the spec, to be left out when an observed object is applied again.
	Generated [][]string
	// ClusterScoped says that objects of the kind have no namespace.
	ClusterScoped bool
	// Rollout is how a new version is held back. Nil: the kind runs nothing.
	Rollout *Rollout
	// Composite says that objects of the kind are composite resources of ours.
	Composite bool
}

// For returns the rule of a kind and whether there is one.
func For(kind schema.GroupKind) (Rule, bool) {
	r, ok := rules[kind]
	return r, ok
}

// Kinds are all kinds that have a rule.
func Kinds() []schema.GroupKind {
	out := make([]schema.GroupKind, 0, len(rules))
	for k := range rules {
		out = append(out, k)
	}
	return out
}
