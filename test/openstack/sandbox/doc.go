// Package sandbox runs a process as a container runtime would: in its own namespaces, on a root file system of bind mounts,
// as one user without capabilities, with an address on a bridge.
//
// A program that uses it calls Main before anything else, because containers start by running that program again.
package sandbox
