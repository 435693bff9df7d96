// Package ceph tests a real Ceph: pools, users, copies of images, and its object store with Keystone's users and Cinder's
// backups.
package ceph
