// Package v1alpha1 holds IdentityCatalog, the initial objects of a Keystone that other objects refer to.
//
// +kubebuilder:object:generate=true
// +groupName=keystone.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
