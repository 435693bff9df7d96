// Package v1alpha1 holds IdentityCatalog, what there is in a Keystone from its beginning, for others to refer to.
//
// +kubebuilder:object:generate=true
// +groupName=keystone.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
