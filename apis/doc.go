// Package apis holds the Go types of every kind that we define. The types are the source of truth: XRDs, CRDs, deep
// copies and the claim reference in docs/ are generated from them by `make generate`.
//
// One folder per kind, one sub-folder per version. Limits (maxLength, maxItems, maxProperties) are not taste: the API
// server estimates the cost of CEL rules from them and refuses a definition whose rules could cost too much.
package apis
