// Package identitycheck reconciles IdentityChecks: it logs in to Keystone every minute, and records whether it got a token, when, and
// what Keystone calls its API. The token itself is let go of at once.
package identitycheck
