// Package hypervisors tests servers on hypervisors of a claim: QEMU, libvirt, OVN and Nova's agents run on fake nodes.
package hypervisors
