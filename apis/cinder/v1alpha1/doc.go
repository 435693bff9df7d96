// Package v1alpha1 holds Cinder, the block storage service.
//
// +kubebuilder:object:generate=true
// +groupName=cinder.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
