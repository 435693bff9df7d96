// Package registry knows which options and policy rules each release of an OpenStack service has, and says what is wrong
// with a tenant's.
//
// It is there because the services are not: an option with a mistyped name is ignored, one with an ill-typed value fails
// when it is first read, and a policy check that does not parse denies everybody, all of it long after a claim was accepted.
//
// The data are extracted from the released packages by hack/registry, one file for each service and release, and decoded
// when they are first asked for. What is accepted is what oslo.config
// (https://docs.openstack.org/oslo.config/latest/reference/types.html) and oslo.policy
// (https://docs.openstack.org/oslo.policy/latest/reference/api/oslo_policy.policy.html) accept, less what they take and nobody
// means:
//
//   - control characters
//   - a number that is empty, infinite, larger than 64 bits or written with underscores; an empty item in a list of numbers
//   - a boolean or a fraction where text is wanted: YAML has already lost how it was written
//   - a list where one value is wanted; an item or a key with a comma in it
//   - a URI without a host, or with characters that RFC 3986 does not allow
//   - a policy check that can never be true, that refers to itself or to nothing, or that asks a server over HTTP
//
// testdata/oslo.json holds examples that hack/registry/verify.py puts to the real libraries.
package registry
