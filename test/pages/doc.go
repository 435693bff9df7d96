// Package pages tests the pages of the documentation: the navigation of kinds, the form of guides, sizes of pages, and the commands and
// manifests on them, without running any.
package pages
