// Package v1alpha1 holds OVNChassis, a node as OVN's southbound database knows it.
//
// +kubebuilder:object:generate=true
// +groupName=ovn.c5c3.io
// +versionName=v1alpha1
package v1alpha1
