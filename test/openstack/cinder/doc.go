// Package cinder tests a real Cinder with a real Ceph.
package cinder
