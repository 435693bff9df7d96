// Package v1alpha1 holds Tempest, recurring integration tests.
//
// +kubebuilder:object:generate=true
// +groupName=tempest.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
