// Package v1alpha1 holds the WorkloadCluster, with which a platform team registers a Kubernetes cluster for the workloads of claims.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
