// Package respond is the only place that writes a function's response: the wrapped or direct objects, the composite
// resource's status and readiness, the conditions that a tenant reads, and errors.
package respond
