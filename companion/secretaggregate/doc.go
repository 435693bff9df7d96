// Package secretaggregate reconciles SecretAggregates: it writes keys of many Secrets, as they are or in templates, into one.
//
// Every pass reads the sources live (world.go), renders all of the Secret or nothing of it (template.go), decides what to do
// (rules.go) and does it in one write, which carries the version that was read. What a source holds goes into that Secret and
// nowhere else: no status, event, log or error has it.
package secretaggregate
