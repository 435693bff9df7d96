// Package v1alpha1 holds Keystone, the identity service.
//
// +kubebuilder:object:generate=true
// +groupName=keystone.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
