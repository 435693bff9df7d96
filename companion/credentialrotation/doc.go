// Package credentialrotation reconciles CredentialRotations: it creates a new application credential or password in Keystone,
// or a new user of message queues, writes it into the Secret that consumers read, restarts the consumers, and revokes the
// previous credential once it is proven to be unused.
//
// Each pass reads the state live (observation.go), selects the one next step (rules.go) and executes it in Kubernetes or in
// Keystone. The three targets differ in how a credential is created, found and revoked (target.go). All state is stored in
// the Secret, together with the credential and written in the same call (record.go). Two rules make it safe to stop the
// controller, or to replace it by another leader, at any point: a credential, including its secret, is written into the
// Secret before it is created, so that creating it again has the same result; and a credential is marked for revocation in
// the Secret, over the same version in which it was proven to be unused, before it is revoked.
// docs/explanation/credential-rotation.md describes the guarantees, and docs/contributing/guarantees-and-tests.md their tests.
package credentialrotation
