// Package rotation computes the number of keys that a repository must keep for its rotation schedule. Its errors report in advance the
// settings that the companion could not apply.
package rotation
