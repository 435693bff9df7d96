// Package invariants holds the real functions to the invariants of docs/architecture.md, over random specs and histories of
// random observed states.
package invariants
