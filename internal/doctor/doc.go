// Package doctor finds out why a claim is not ready: it follows the claim to its composite resource, to the composed objects, and to their
// pods, and reports the objects that block it, with their messages and the next command.
//
// It reads objects through a Reader, so that a dump can be used in place of a cluster. Whether an object is ready is decided by
// internal/readiness, and whether a status is too old by internal/freshness, as in the functions. It reads no Secrets.
package doctor
