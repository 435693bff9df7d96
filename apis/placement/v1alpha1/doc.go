// Package v1alpha1 holds Placement, the inventory of what virtual machines use.
//
// +kubebuilder:object:generate=true
// +groupName=placement.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
