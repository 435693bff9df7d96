// Package identitycheck reconciles IdentityChecks: it logs in to Keystone every minute, and records whether and when it got a
// token, and the version of Keystone's API. The token itself is not stored.
package identitycheck
