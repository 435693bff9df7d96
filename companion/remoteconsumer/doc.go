// Package remoteconsumer reconciles RemoteConsumers: it reports the credentials in use that a consumer in another namespace
// or cluster needs, so that the controller that observes the consumer can distribute them, and report when all of its pods
// have them. CredentialRotations read the reports (package credentialrotation).
package remoteconsumer
