// Package roleassignment reconciles RoleAssignments: a user or a group has a role in Keystone as long as there is an object that says so.
//
// Every pass reads the object, what it refers to and Keystone live (world.go), decides what to do (rules.go) and does one thing. What is
// given was recorded before, over the version that was read, and so is removed when the object goes, whatever has become of what it
// refers to. Keystone knows no versions: a leader that stalls between that write and its request, while another one lets the object go,
// gives the role once more.
package roleassignment
