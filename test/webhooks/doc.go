// Package webhooks holds what the function orders at an edit against what the owners of the objects do not allow to change: transition
// rules in the real definitions of every kind, and the webhooks of MariaDB's operator, which are its released program.
package webhooks
