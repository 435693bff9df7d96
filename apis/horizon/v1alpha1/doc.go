// Package v1alpha1 holds Horizon, the dashboard.
//
// +kubebuilder:object:generate=true
// +groupName=horizon.openstack.c5c3.io
// +versionName=v1alpha1
package v1alpha1
