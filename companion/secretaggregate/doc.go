// Package secretaggregate reconciles SecretAggregates: it combines keys of several Secrets, unchanged or in templates, in one
// Secret.
//
// Each pass reads the sources live (observation.go), renders the complete Secret or fails (template.go), selects a step (rules.go),
// and executes it in one write, which carries the version that was read. The values of sources are written only to that
// Secret: they never appear in a status, event, log or error.
package secretaggregate
