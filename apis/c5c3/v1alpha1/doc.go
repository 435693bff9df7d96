// Package v1alpha1 holds the kinds of CobaltCore's own group that the companion reconciles: CredentialRotation, RaftCluster,
// RemoteConsumer and SecretAggregate.
//
// +kubebuilder:object:generate=true
// +groupName=c5c3.io
// +versionName=v1alpha1
package v1alpha1
