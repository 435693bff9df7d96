// Package condition sets conditions one at a time, and reads those of Jobs.
package condition

import (
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Type: name, Status: metav1.ConditionFalse, Reason: s.Reason, Message: Truncate(s.Message, limit),
		ObservedGeneration: generation, LastTransitionTime: metav1.Time{Time: now},
	}
	if s.True {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(conditions, c)
}

// Truncate is the beginning of a text, at most so many bytes and whole runes.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// FinishedCondition reports how a Job ended: its condition Complete or Failed, or an empty one if it has not ended.
func FinishedCondition(j *batchv1.Job) batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return batchv1.JobCondition{}
}
