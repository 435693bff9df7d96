// Package keyrepository reconciles KeyRepositories: it creates the keys once, rotates them on a schedule, never before the
// last rotation has reached all pods, re-encrypts data with the new keys, and backs the keys up.
//
// Each pass reads the state live (observation.go), selects the one next step (rules.go) and executes it. All state is stored in the
// Secret, together with the keys and written in the same call (record.go), so that a crash between two calls loses nothing.
// Each write carries the version that was read, so that neither a second leader nor a stale cache can overwrite a key.
// docs/explanation/key-rotation.md describes the guarantees, and docs/contributing/guarantees-and-tests.md their tests.
package keyrepository
