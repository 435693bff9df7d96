// Package credentialrotation reconciles CredentialRotations: it makes a new application credential or password in Keystone, or a new user
// of message queues, puts it into the Secret that consumers read, rolls them, and revokes what they had before when it is proven that
// nobody has it any more.
//
// Every pass reads the world live (world.go), finds the one next step (rules.go) and takes it: to Kubernetes or to Keystone. What the three
// targets differ in is how a credential is made, found and revoked (target.go). All memory is in the Secret, beside the credential and
// written with it (record.go). Two orders make it safe to be killed, or overtaken by another leader, anywhere: what is made was written
// into the Secret before, secret included, so that making it again is the same thing; and what is revoked was condemned in the Secret
// before, over the very version in which it was proven to be unused. docs/reliability.md says what is shown and how.
package credentialrotation
