// Package v1alpha1 holds the HypervisorCluster: the claim by which a tenant orders a pool of hypervisors for an OpenStack
// control plane.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
