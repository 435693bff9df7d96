// Package compose turns a graph of components into a plan: which objects must exist now. It is the only place with gates.
//
// The rules, each held by a property test:
//
//   - Observed objects stay desired. A closed gate only delays creation; Crossplane deletes objects that are missing from a response.
//   - Only the new version of a running workload waits for the components in RolloutAfter; its other changes are applied at once. From any
//     state, the plan becomes ready if all desired objects become ready.
//   - An error of any builder is an error of the whole plan: a partial plan would be a deletion.
//   - The same input gives the same plan.
//   - An object is created only after its dependencies are ready and up to date. Every object has a hash of itself as an annotation; an
//     object observed with another hash is not ready, even if its conditions are true.
package compose
