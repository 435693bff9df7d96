// Package roleassignment reconciles RoleAssignments: a user or a group has a role in Keystone while the object exists.
//
// Each pass reads the object, the objects that it references, and Keystone live (observation.go), selects a step (rules.go), and
// executes it. An assignment is recorded first, over the version that was read. So it is removed with the object, regardless
// of the referenced objects. Keystone has no resource versions: a leader that is delayed between that write and its request,
// while another one removes the finalizer, assigns the role once more.
package roleassignment
