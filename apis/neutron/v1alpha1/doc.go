// Package v1alpha1 holds Neutron, the network service.
//
// +kubebuilder:object:generate=true
// +groupName=neutron.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
