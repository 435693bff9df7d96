// Package compose turns a graph of components into a plan: which objects must exist now. It is the only place with gates.
//
// The rules, each held by a property test:
//
//   - What is observed stays desired. A closed gate holds back creation only; Crossplane deletes what a response leaves out.
//   - A new version of what runs waits for the components that it rolls after, and nothing else of it does. From any state, all becomes
//     ready if everything that is desired does.
//   - An error of any builder is an error of the whole plan: a partial plan would be a deletion.
//   - The same input gives the same plan.
//   - Nothing is created before what it needs is ready, and ready means: up to date. Every object carries a hash of
//     itself; one that is observed with another hash is not ready, whatever its conditions say.
package compose
