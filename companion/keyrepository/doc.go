// Package keyrepository reconciles KeyRepositories: it makes the keys once, rotates them by schedule, never before the last
// rotation has reached every pod, renews what is encrypted with them, and backs them up.
//
// Every pass reads the world live (world.go), finds the one next step (rules.go) and takes it. All memory is in the Secret,
// beside the keys and written with them in one call (record.go), so that a crash between any two calls loses nothing, and every
// write carries the version that was read, so that neither a second leader nor an old cache can overwrite a key.
// docs/reliability.md says what is proven and how.
package keyrepository
