// Package v1alpha1 holds OVNChassis, the representation of a node in OVN's southbound database.
//
// +kubebuilder:object:generate=true
// +groupName=ovn.c5c3.io
// +versionName=v1alpha1
package v1alpha1
