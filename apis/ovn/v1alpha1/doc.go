// Package v1alpha1 holds OVNCluster, the databases of virtual networks and the daemons that synchronize them.
//
// +kubebuilder:object:generate=true
// +groupName=ovn.c5c3.io
// +versionName=v1alpha1
package v1alpha1
