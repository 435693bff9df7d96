// Package install installs the programs of a cloud on this machine: programs of this Debian and of a newer one, and
// OpenStack's services from the Python package index, one virtual environment for each release.
package install
