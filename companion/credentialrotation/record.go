package credentialrotation

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// recordAnnotation of the Secret holds the record.
const recordAnnotation = "c5c3.io/credential-record"

// record is what the controller knows of the credential in a Secret. It is kept beside it and written with it in one call.
type record struct {
	// Rotation is the name of the CredentialRotation that wrote it.
	Rotation string `json:"rotation"`
	// ID of the credential in use: an application credential's in Keystone, a random one of a password. None: there is none yet.
	ID string `json:"id,omitempty"`
	// Digest of the credential as it was written. Another one was written by someone else.
	Digest string `json:"digest,omitempty"`
	// Since is when it was written.
	Since time.Time `json:"since"`
	// Distributed is when it was seen that every consumer has it.
	Distributed *time.Time `json:"distributed,omitempty"`
	// Previous is the ID of the one before, until that is revoked.
	Previous string `json:"previous,omitempty"`
	// Roles are those that the application credential in use was made with, sorted. None: those that the user had.
	Roles []string `json:"roles,omitempty"`
	// Staged is the name of the credential that is being made, and StagedRoles are its roles. Its secret is in the Secret already.
	Staged      string   `json:"staged,omitempty"`
	StagedRoles []string `json:"stagedRoles,omitempty"`
	// Condemned are the IDs of application credentials that nobody uses: they are revoked one by one.
	Condemned []string `json:"condemned,omitempty"`
	// Clean is set when every other application credential of this rotation is revoked.
	Clean bool `json:"clean,omitempty"`
}

// replaced is the record when the staged credential is in use.
func (r record) replaced(id, value string, now time.Time) record {
	return record{
		Rotation: r.Rotation, ID: id, Digest: digest(id, value), Since: now, Previous: r.ID, Condemned: r.Condemned, Roles: r.StagedRoles,
	}
}

// revoked is the record when nothing but the credential in use is left.
func (r record) revoked() record {
	r.Condemned, r.Previous, r.Clean = nil, "", true
	return r
}

// digest of a credential. Only who reads the Secret reads it.
func digest(id, value string) string {
	const digits = 32
	return names.Hash(digits, id, value)
}

// What is rotated.
const (
	applicationCredential = "ApplicationCredential"
	password              = "Password"
)

// Keys of the Secret. The staged one, of the same name after a prefix, is there while a credential is made; consumers do not read it.
const (
	idKey        = "application_credential_id"
	secretKey    = "application_credential_secret"
	passwordKey  = "password"
	stagedPrefix = "staged_"
)

// valueKey is the key of what is secret, and stagedKey that of what will be.
func valueKey(r *c5c3v1.CredentialRotation) string {
	if r.Spec.Target == password {
		return passwordKey
	}
	return secretKey
}

func stagedKey(r *c5c3v1.CredentialRotation) string { return stagedPrefix + valueKey(r) }

func (w *world) value() string  { return text(w.secret, valueKey(w.rotation)) }
func (w *world) staged() string { return text(w.secret, stagedKey(w.rotation)) }

func text(s *corev1.Secret, key string) string {
	if s == nil {
		return ""
	}
	return string(s.Data[key])
}
