// Package v1alpha1 holds the kinds that the companion controller reconciles in the workload cluster: what needs memory,
// randomness or a running service, and therefore cannot be done by a composition function.
//
// +kubebuilder:object:generate=true
// +groupName=openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
