// Package rotation is what a schedule of rotations means: when it comes, how close two of its times are, and how many keys a repository
// therefore has to keep. The functions refuse by it what the companion could not do.
package rotation
