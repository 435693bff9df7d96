// Package v1alpha1 holds KeystoneService, a custom service in the Keystone of a control plane.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
