// Package v1alpha1 holds NovaCell, a cell of Nova: a group of hypervisors with a database, a virtual host of a message queue and a
// conductor.
//
// +kubebuilder:object:generate=true
// +groupName=nova.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
