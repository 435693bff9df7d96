// Package apis holds the Go types of every kind of this project. The types are the source of truth: `make generate` generates XRDs, CRDs,
// deep copies and the claim reference in docs/ from them.
//
// One folder per kind, one sub-folder per version. Limits (maxLength, maxItems, maxProperties) are required: the API server estimates the
// cost of CEL rules from them and rejects a definition whose rules could cost too much.
package apis
