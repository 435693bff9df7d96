// Package v1alpha1 holds the StorageCluster, the claim with which a tenant requests a Ceph cluster.
//
// +kubebuilder:object:generate=true
// +groupName=crossplane.c5c3.io
// +versionName=v1alpha1
package v1alpha1
