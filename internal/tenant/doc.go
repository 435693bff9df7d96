// Package tenant groups packages that isolate tenants and restrict them to the platform's limits.
package tenant
