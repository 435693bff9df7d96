// Package databasesync reconciles DatabaseSyncs: it brings the schema of a service's databases to a release.
//
// A pass reads everything live, next decides, and the reconciler does that one thing. Decisions are pure and waiting is one of
// them.
//
// The life of a schema:
//
//	new here        what is in the database? → nothing: sync; a schema: as below, from its release
//	new database    sync → everything ran
//	other release   upgrade check → expand → installed → every consumer runs the image → contract → online migrations → everything ran
//	other image     the same without the upgrade check
//
// A database that is new here may have been retained, or restored from a backup. The service's own tool reports the revision of its
// schema, and a table in the spec which release that is: a step that OpenStack does not support is refused before anything runs. Once a
// step has begun, the record is believed: whoever restores another database under a DatabaseSync deletes that, and it is created again.
//
// Another image of the same release, or other steps, run what an upgrade runs. Stable branches of OpenStack take no schema
// changes (https://docs.openstack.org/project-team-guide/stable-branches.html), so the steps find nothing to do, mostly; where
// a vendor's image brings one, it is applied. Configuration is not what a schema depends on: another ConfigMap runs nothing.
//
// The life of an attempt, a pass for each arrow:
//
//	its Job is made, suspended → it is recorded in status.history → the Job is released → its end is recorded
//
// So nothing runs that is not recorded, a record without a Job is of one that vanished, and a suspended Job without a record never ran. A
// record without an end says that a Job may run: until it has ended, nothing else begins. A Job is released only as it was seen, and its
// record was there before and after that: so a leader that stalled starts nothing later, because before another record is made, the Job
// that it saw has ended or is gone. The way back is closed in the same write as the first record of a contract.
//
// A Job that vanished after its end was recorded is not missed. One that vanished before counts as failed and runs again, after
// the last pod of the schema has gone: an interrupted step of OpenStack goes on where it was.
//
// The spec may change at any time. An attempt that runs is seen to its end first, and its result is recorded; one whose pods have not
// started, because an image cannot be pulled, is cancelled: its Job is suspended again, and its record goes when no pod of it is left. (A
// pod that starts in that moment is stopped at once; if it has gone before the next pass sees it, it is not reported.) An upgrade can be
// aborted while expand runs and until contract begins, because an expanded schema serves both releases; the schema then stays ahead of
// what runs, and no step of the old release touches it. An upgrade by sync cannot be aborted once it has run. During the first sync every
// release is tried: the service's own tool knows what it finds in the database, and refuses a schema that is newer.
package databasesync
