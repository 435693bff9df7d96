// Package v1alpha1 holds Nova, the compute service.
//
// +kubebuilder:object:generate=true
// +groupName=nova.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
