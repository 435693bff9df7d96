// Package v1alpha1 holds the pieces of schema that several kinds share: images, resources, placement, exposure,
// overrides of a service's configuration, references and the parts of a status.
//
// +kubebuilder:object:generate=true
// +versionName=v1alpha1
package v1alpha1
