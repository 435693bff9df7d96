// Package v1alpha1 holds NovaCell, a cell of Nova: a group of hypervisors with a database, a part of a message queue and a conductor of its
// own.
//
// +kubebuilder:object:generate=true
// +groupName=nova.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
