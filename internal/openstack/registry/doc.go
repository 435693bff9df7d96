// Package registry contains the options and policy rules of each release of the OpenStack services, and validates the settings of
// a tenant.
//
// The services do not validate them at startup: an option with a misspelled name is ignored, a value of the wrong type
// fails when it is first read, and an invalid policy check denies all requests, long after the claim was accepted.
//
// hack/registry extracts the data from the released packages, one file for each service and release. They are decoded when
// they are first used. The registry accepts the same values as oslo.config
// (https://docs.openstack.org/oslo.config/latest/reference/types.html) and oslo.policy
// (https://docs.openstack.org/oslo.policy/latest/reference/api/oslo_policy.policy.html), except for values that are never
// intended:
//
//   - control characters
//   - a number that is empty, infinite, larger than 64 bits or written with underscores; an empty item in a list of numbers
//   - a boolean or a fraction for a string option: YAML has already lost how it was written
//   - a list for a single value; an item or a key that contains a comma
//   - a URI without a host, or with characters that RFC 3986 does not allow
//   - a policy check that can never be true, that refers to itself or to a missing rule, or that sends a request over HTTP
//
// testdata/oslo.json contains examples that hack/registry/verify.py validates with the real libraries.
package registry
