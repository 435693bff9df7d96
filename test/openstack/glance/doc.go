// Package glance tests a real Glance, with stores in files, a bucket and Ceph.
package glance
