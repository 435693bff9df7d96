package observe

import (
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// WithClock returns the state with the time at which it is evaluated.
func (s State) WithClock(c freshness.Clock) State {
	s.clock = c
	return s
}

// LastObservation returns the time at which the companion last observed the state that the object's status describes, or the oldest such
// time of a composite resource's objects. It is the zero time if the status has none.
func (o *Object) LastObservation() time.Time {
	at, err := time.Parse(time.RFC3339, o.String("status", freshness.Field))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// CompanionStaleReason returns why the companion in a namespace does not work, although its pods may be ready: the newest of the times in
// the statuses of all objects is too old. "" if it is recent, or unknown.
func (s State) CompanionStaleReason(namespace string) string {
	var newest time.Time
	for _, o := range s.objects {
		if at := o.LastObservation(); at.After(newest) {
			newest = at
		}
	}
	subject := freshness.Subject{Kind: "every object", Name: "of the companion", Namespace: namespace}
	return s.clock.StaleReason(subject, newest, freshness.ComponentLimit)
}

// OldestObservation returns the oldest time of an observation in the statuses of all objects, for the status of the composite resource. It
// is rounded down. Without such a time it is the zero time.
func (s State) OldestObservation() time.Time {
	var oldest time.Time
	for _, o := range s.objects {
		if at := o.LastObservation(); !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest.Truncate(freshness.Precision)
}

// StaleReason returns why the status of an object must not be used because of its age; "" if it is recent, or its age is unknown.
func (s State) StaleReason(o *Object) string {
	return s.clock.StaleReason(subject(o), o.LastObservation(), freshness.ComponentLimit)
}

// UnverifiedReason returns why a deletion guard must not use the status of an object; "" if its age is known and below the limit.
func (s State) UnverifiedReason(o *Object) string {
	return s.clock.UnverifiedReason(subject(o), o.LastObservation(), freshness.GuardLimit)
}

func subject(o *Object) freshness.Subject {
	return freshness.Subject{Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
}
