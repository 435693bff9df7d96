// Package v1alpha1 holds the ControlPlaneCluster, the claim with which a tenant requests an OpenStack control plane.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
