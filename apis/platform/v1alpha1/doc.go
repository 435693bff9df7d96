// Package v1alpha1 holds the PlatformConfig: the settings of a platform team for all claims.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
