// Package install brings what a cloud runs on this machine: programs of Debian, and OpenStack's services from the Python
// package index, one virtual environment for each release.
package install
