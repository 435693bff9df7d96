// Package controller contains the common part of the companion's controllers.
//
// A Kind defines how one kind of object is reconciled: it observes the state, its rules select a decision from the
// observation alone, and the Decision is reported in the object's status, executed, logged and recorded as an Event. Reads,
// conflicts, metrics, conditions and watches are handled here, so that a new kind consists of its observation, its rules and
// its status.
package controller
