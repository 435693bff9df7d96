// Package volumes tests servers with volumes in a real Ceph: attached, encrypted, upgraded, and as disks of pools.
package volumes
