// Package databasesync reconciles DatabaseSyncs: it upgrades the schema of a service's databases to a release.
//
// A pass reads the state live, next selects one step, and the reconciler executes it. Decisions are pure functions; waiting
// is one of them.
//
// Phases of a schema:
//
//	unknown database  read its revision → empty: sync; a schema: as below, from its release
//	new database      sync → complete
//	other release     upgrade check → expand → installed → all consumers run the image → contract → online migrations → complete
//	other image       the same without the upgrade check
//
// A database that is new to a DatabaseSync may have been retained, or restored from a backup. The service's own tool reports
// the revision of its schema, and a table in the spec maps revisions to releases: an upgrade that OpenStack does not support
// is rejected before anything runs. Once a step has started, the record is authoritative: after another database is restored,
// delete the DatabaseSync, which is created again.
//
// A different image of the same release, or different steps, run the steps of an upgrade. Stable branches of OpenStack have
// no schema changes (https://docs.openstack.org/project-team-guide/stable-branches.html), so the steps usually change
// nothing; if a vendor's image has a schema change, it is applied. A schema does not depend on configuration: a changed
// ConfigMap runs nothing.
//
// Life cycle of an attempt, with a pass for each arrow:
//
//	its Job is created, suspended → it is recorded in status.history → the Job is released → its result is recorded
//
// So nothing runs without a record, a record without a Job means that the Job disappeared, and a suspended Job without a
// record never ran. A record without a result means that a Job may run: nothing else starts until it has ended. A Job is
// released only with the version that was read, and its record existed before and after that read. So a delayed leader cannot
// start a Job later, because that Job has ended or disappeared before another record is created. An upgrade can no longer be
// aborted from the write that creates the first record of a contract.
//
// A Job may disappear after its result was recorded. One that disappeared before counts as failed and runs again after the
// last pod of the schema has ended: an interrupted step of OpenStack continues where it stopped.
//
// The spec may change at any time. A running attempt is completed first, and its result is recorded. An attempt whose pods
// have not started, because an image cannot be pulled, is cancelled: its Job is suspended again, and its record is removed
// once it has no pods. (A pod that starts at that moment is stopped immediately; if it ends before the next pass observes it,
// it is not reported.) An upgrade can be aborted while expand runs and until contract starts, because an expanded schema
// serves both releases; the schema then stays ahead of the running release, and no step of the old release is run. An upgrade
// by sync cannot be aborted once it has run. During the first sync every release is attempted: the service's own tool checks
// the database, and rejects a schema that is newer.
package databasesync
