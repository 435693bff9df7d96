// Package v1alpha1 holds Glance, the image service.
//
// +kubebuilder:object:generate=true
// +groupName=glance.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
