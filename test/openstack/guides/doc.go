// Package guides runs the commands of the OpenStack client on tutorials and how-to guides in a cloud with two hypervisors.
package guides
