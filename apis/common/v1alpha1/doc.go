// Package v1alpha1 holds the types that several kinds share: images, resources, placement, exposure, overrides of a service's
// configuration, references and parts of a status.
//
// +kubebuilder:object:generate=true
// +versionName=v1alpha1
package v1alpha1
