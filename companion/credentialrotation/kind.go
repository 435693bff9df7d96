package credentialrotation

import (
	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// What is rotated.
const (
	applicationCredential = "ApplicationCredential"
	password              = "Password"
)

// Keys of the Secret. The staged ones are there while a credential is made; consumers do not read them.
const (
	idKey             = "application_credential_id"
	secretKey         = "application_credential_secret"
	stagedSecretKey   = "staged_application_credential_secret" //nolint:gosec // The name of a key.
	passwordKey       = "password"
	stagedPasswordKey = "staged_password"
)

// valueKey is the key of what is secret, and stagedKey that of what will be.
func valueKey(r *c5c3v1.CredentialRotation) string {
	if r.Spec.Target == password {
		return passwordKey
	}
	return secretKey
}

func stagedKey(r *c5c3v1.CredentialRotation) string {
	if r.Spec.Target == password {
		return stagedPasswordKey
	}
	return stagedSecretKey
}

func (w *world) value() string  { return text(w.secret, valueKey(w.rotation)) }
func (w *world) staged() string { return text(w.secret, stagedKey(w.rotation)) }

func text(s *corev1.Secret, key string) string {
	if s == nil {
		return ""
	}
	return string(s.Data[key])
}
