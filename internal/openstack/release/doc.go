// Package release is the table of OpenStack releases: which there are, which version of each service belongs to them, which
// upgrades are allowed, and which images run them. Nothing else in the project names a version or an image.
//
// A new release is one more column of the table in release.go; a new point release is one number in it.
package release
