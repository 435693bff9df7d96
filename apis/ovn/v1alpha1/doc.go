// Package v1alpha1 holds OVNCluster, the databases of virtual networks and what keeps one as the other says.
//
// +kubebuilder:object:generate=true
// +groupName=ovn.c5c3.io
// +versionName=v1alpha1
package v1alpha1
