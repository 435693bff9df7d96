// Package condition sets conditions one at a time.
package condition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
)

// limit is the longest message that the API takes, in bytes.
const limit = 32768

// A State is what a condition says.
type State struct {
	True            bool
	Reason, Message string
}

// True is the state of a condition that holds.
func True(reason, message string) State { return State{true, reason, message} }

// False is the state of one that does not.
func False(reason, message string) State { return State{false, reason, message} }

// Set sets a condition.
func Set(conditions *[]metav1.Condition, name string, generation int64, now time.Time, s State) {
	c := metav1.Condition{
		Type: name, Status: metav1.ConditionFalse, Reason: s.Reason, Message: event.Cut(s.Message, limit),
		ObservedGeneration: generation, LastTransitionTime: metav1.Time{Time: now},
	}
	if s.True {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(conditions, c)
}
