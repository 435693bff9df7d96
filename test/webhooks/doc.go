// Package webhooks checks that the updates which the function composes for an edit are accepted by the owners of the
// objects: the transition rules in the real definitions of every kind, and the webhooks of MariaDB's operator, run from
// its released program. It also checks that plan --cluster reads a real API server.
package webhooks
