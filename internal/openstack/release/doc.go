// Package release contains the table of OpenStack releases: the supported releases, the versions of their services, the
// allowed upgrades, and the images. Other packages contain no versions or images.
//
// To add a release, add a column to the table in release.go; for a point release, change one number.
package release
