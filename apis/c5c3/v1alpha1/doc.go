// Package v1alpha1 holds the kinds of CobaltCore's own group that the companion controller reconciles: CredentialRotation
// and SecretAggregate.
//
// +kubebuilder:object:generate=true
// +groupName=c5c3.io
// +versionName=v1alpha1
package v1alpha1
