// Package schema checks objects and CustomResourceDefinitions as a Kubernetes API server does, without one: unknown
// fields, defaults, OpenAPI types and formats, list types, embedded resources, metadata and CEL rules, in the order and
// with the libraries of k8s.io/apiextensions-apiserver. It also makes the CRDs that Crossplane makes from an XRD, so
// that a claim can be checked before it is sent.
//
// What stays out: admission webhooks and policies, and whatever needs to see other objects.
package schema
