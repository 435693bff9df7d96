// Package v1alpha1 holds the OpenStackCluster, the claim with which a tenant requests a complete cloud.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
