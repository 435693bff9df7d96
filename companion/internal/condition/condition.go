// Package condition sets conditions, and reads conditions of Jobs.
package condition

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limit is the maximum length of a message in the API, in bytes.
const limit = 32768

// State is the content of a condition.
type State struct {
	// True is the status. Unknown is set if it is neither true nor false.
	True, Unknown   bool
	Reason, Message string
}

// True returns the state of a condition that is true.
func True(reason, message string) State { return State{True: true, Reason: reason, Message: message} }

// False returns the state of a condition that is false.
func False(reason, message string) State { return State{Reason: reason, Message: message} }

// Unknown returns the state of a condition that cannot be determined.
func Unknown(reason, message string) State {
	return State{Unknown: true, Reason: reason, Message: message}
}

// Set sets a condition.
func Set(conditions *[]metav1.Condition, name string, generation int64, now time.Time, s State) {
	c := metav1.Condition{
		Type: name, Status: metav1.ConditionFalse, Reason: s.Reason, Message: Truncate(s.Message, limit),
		ObservedGeneration: generation, LastTransitionTime: metav1.Time{Time: now},
	}
	switch {
	case s.True:
		c.Status = metav1.ConditionTrue
	case s.Unknown:
		c.Status = metav1.ConditionUnknown
	}
	meta.SetStatusCondition(conditions, c)
}

// Truncate returns the first bytes of a text, at most the given number and only complete runes.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// JoinNames joins the first names of a list, and the number of the others, so that a message stays short.
func JoinNames(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// FinishedCondition returns the condition Complete or Failed of a finished Job; otherwise an empty condition.
func FinishedCondition(j *batchv1.Job) batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return batchv1.JobCondition{}
}
