// Package v1alpha1 holds Barbican, the key manager.
//
// +kubebuilder:object:generate=true
// +groupName=barbican.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
