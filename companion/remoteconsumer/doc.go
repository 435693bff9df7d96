// Package remoteconsumer reconciles RemoteConsumers: it says which credentials are in use in the place of those that somebody elsewhere
// has, so that whoever sees that consumer can bring it to them, and report when all of its pods have them. CredentialRotations read the
// reports (package credentialrotation).
package remoteconsumer
