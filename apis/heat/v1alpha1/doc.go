// Package v1alpha1 holds Heat, the orchestration service.
//
// +kubebuilder:object:generate=true
// +groupName=heat.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
