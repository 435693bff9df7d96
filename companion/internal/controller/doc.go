// Package controller is what all controllers of the companion have in common.
//
// A Kind says how one kind of object is reconciled: it observes the world, its rules decide by what was observed and by nothing else, and
// the Step that they come to is reported in the object's status, taken, logged and recorded as an Event. Reading, conflicts, metrics,
// conditions and watches are here, so that a new kind is its observation, its rules and its status.
package controller
