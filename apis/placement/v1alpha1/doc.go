// Package v1alpha1 holds Placement, the resource inventory.
//
// +kubebuilder:object:generate=true
// +groupName=placement.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
