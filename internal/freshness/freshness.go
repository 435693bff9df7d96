// Package freshness decides whether a status that the companion wrote is recent enough to be used. A status stays as it is when the
// companion stops, so that its content does not show its age.
//
// Functions have no clock: the time is an input, from an object that Kubernetes itself renews (see Clock).
package freshness

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// Field is the status field with the time of the last observation, in objects of the companion and in composite resources.
const Field = "lastObservationTime"

// Intervals at which the companion writes the time of its last observation while nothing else changes. Each write makes Crossplane apply
// every object of the composite resource again, and a control plane has about a hundred objects of the companion. Deletion guards need a
// younger status than components, and a control plane has a few objects with their counts.
const (
	WriteInterval      = 30 * time.Minute
	GuardWriteInterval = 5 * time.Minute
)

// Precision of the time in the status of a composite resource: the oldest time of its objects, rounded down, so that a parent is called
// for it once in this time.
const Precision = 30 * time.Minute

// Limits of the age of a status. A component's is the sum of the write interval, the interval of passes (ten minutes) and the precision,
// with a reserve. A companion without an available pod is reported by its Deployment within a minute; the limit is for a companion that
// runs without progress. A guard's limit is three write intervals.
const (
	ComponentLimit = 90 * time.Minute
	GuardLimit     = 3 * GuardWriteInterval
)

// tolerance is the maximum difference by which a time may be later than the clock: the clock advances every ten minutes,
// and clusters' clocks differ.
const tolerance = 15 * time.Minute

// Requirement is the name of the required resource with the time, as in the Compositions.
const Requirement = "clock"

// Name and namespace of the CronJob with the time, and the interval at which Kubernetes renews it.
const (
	ClockName      = "cobaltcore-clock"
	ClockNamespace = "kube-system"
	ClockInterval  = 10 * time.Minute
)

// clockObject names the object with the time in messages.
const clockObject = "CronJob " + ClockName + " in namespace " + ClockNamespace + " of the management cluster"

// Clock is a time of the management cluster that was read before a call. The zero Clock is unknown.
type Clock struct{ now time.Time }

// At returns a clock that shows a time.
func At(now time.Time) Clock { return Clock{now: now} }

// Known reports whether the time was read.
func (c Clock) Known() bool { return !c.now.IsZero() }

// ClockMissing is the sentence for an unknown clock, with its remedy.
const ClockMissing = clockObject + " does not exist: upgrade the Helm chart to the version of the functions"

// ClusterReportLimit is the maximum age of the report on a WorkloadCluster: a write every five minutes, a poll of the provider every ten,
// and a clock that advances every ten.
const ClusterReportLimit = GuardWriteInterval + 2*ClockInterval

// ReadClock returns the time of the required CronJob: when Kubernetes last started it or, before that, created it. It is unknown if the
// object does not exist, as in a preview.
//
// Crossplane watches required resources. A Lease would be a more precise clock, but it is renewed every few seconds, and every composite
// resource that requires it would be reconciled as often.
func ReadClock(required map[string][]*structpb.Struct) Clock {
	var c Clock
	for _, o := range required[Requirement] {
		for _, path := range [][2]string{{"metadata", "creationTimestamp"}, {"status", "lastScheduleTime"}} {
			text := o.GetFields()[path[0]].GetStructValue().GetFields()[path[1]].GetStringValue()
			if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(c.now) {
				c.now = at
			}
		}
	}
	return c
}

// Subject is an object whose status is checked. Namespace is the namespace of its companion, too.
type Subject struct{ Kind, Namespace, Name string }

func (s Subject) String() string {
	return fmt.Sprintf("%s %s in namespace %s", s.Kind, s.Name, s.Namespace)
}

// StaleReason returns why a status with the time of an observation must not be used; "" if it is recent, or if the clock or the time is
// unknown: a new function runs before a new companion has written the first time.
func (c Clock) StaleReason(of Subject, observed time.Time, limit time.Duration) string {
	if c.now.IsZero() || observed.IsZero() {
		return ""
	}
	at := observed.UTC().Format(time.RFC3339)
	switch age := c.now.Sub(observed); {
	case age < -tolerance:
		return fmt.Sprintf("the status of %s is from %s, which is in the future: synchronize the clocks of the companion's nodes and of the "+
			"management cluster, and check %s", of, at, clockObject)
	case age > limit:
		return fmt.Sprintf("the status of %s is from %s, more than %s ago: check the Deployment and the log of the companion in that "+
			"namespace, and the conditions of the object", of, at, rounded(age))
	}
	return ""
}

// UnverifiedReason is like StaleReason for deletion guards, which are also closed while the clock or the time is unknown.
func (c Clock) UnverifiedReason(of Subject, observed time.Time, limit time.Duration) string {
	switch {
	case c.now.IsZero():
		return fmt.Sprintf("the age of the status of %s is unknown, because %s does not exist: upgrade the Helm chart "+
			"to the version of the functions; deletion guards are closed until then", of, clockObject)
	case observed.IsZero():
		return fmt.Sprintf("the status of %s has no time: wait for the companion to write it, or check the Deployment and the log of the "+
			"companion in that namespace", of)
	}
	return c.StaleReason(of, observed, limit)
}

// rounded returns an age in one unit, rounded down. The message of a condition changes with it, and each change is an event.
func rounded(age time.Duration) string {
	const day, ten = 24 * time.Hour, 10 * time.Minute
	switch {
	case age >= 2*day:
		return fmt.Sprintf("%d days", age/day)
	case age >= 2*time.Hour:
		return fmt.Sprintf("%d hours", age/time.Hour)
	}
	return fmt.Sprintf("%d minutes", age.Truncate(ten)/time.Minute)
}
