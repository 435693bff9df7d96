// Package v1alpha1 holds the kinds that the companion reconciles in the workload cluster: tasks that require memory, randomness or a
// running service, so that a composition function cannot perform them.
//
// +kubebuilder:object:generate=true
// +groupName=openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
