// Package tenant groups what keeps tenants apart and within what the platform allows.
package tenant
