// Package v1alpha1 holds the PlatformConfig: what a platform team decides once for all claims.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
