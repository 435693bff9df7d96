// Package credentialrotation reconciles CredentialRotations: it makes a new application credential or password in Keystone, puts
// it into the Secret that consumers read, rolls them, and revokes what they had before when it is proven that nobody has it any
// more.
//
// Every pass reads the world live (world.go), finds the one next step (rules.go) and takes it: one write, to Kubernetes or to
// Keystone. All memory is in the Secret, beside the credential and written with it (record.go). Two orders make it safe to be
// killed, or overtaken by another leader, anywhere: what is made in Keystone was written into the Secret before, secret included,
// so that making it again is the same thing; and what is revoked was condemned in the Secret before, over the very version in
// which it was proven to be unused. docs/reliability.md says what is shown and how.
package credentialrotation
