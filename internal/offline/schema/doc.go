// Package schema validates objects and CustomResourceDefinitions like a Kubernetes API server, without one: unknown
// fields, defaults, OpenAPI types and formats, list types, embedded resources, metadata and CEL rules, in the order and
// with the libraries of k8s.io/apiextensions-apiserver. It also generates the CRDs that Crossplane generates from an XRD, so
// that a claim can be validated before it is created.
//
// It does not support admission webhooks and policies, and checks that depend on other objects.
package schema
