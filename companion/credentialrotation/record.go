package credentialrotation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// recordAnnotation of the Secret holds the record.
const recordAnnotation = "c5c3.io/credential-record"

// record is what the controller knows of the credential in a Secret. It is kept beside it and written with it in one call.
type record struct {
	// Rotation is the name of the CredentialRotation that wrote it.
	Rotation string `json:"rotation"`
	// ID of the credential in use: an application credential's in Keystone, the name of a queue user, a random one of a
	// password. None: there is none yet.
	ID string `json:"id,omitempty"`
	// Digest of the credential as it was written. Another one was written by someone else.
	Digest string `json:"digest,omitempty"`
	// Since is when it was written.
	Since time.Time `json:"since"`
	// Distributed is when it was seen that every consumer has it.
	Distributed *time.Time `json:"distributed,omitempty"`
	// MissingConsumers are the consumers that did not exist when the credential was already in the Secret: whenever they are made, all of their
	// pods have it.
	MissingConsumers []string `json:"awaited,omitempty"`
	// Previous is the ID of the one before, until that is revoked.
	Previous string `json:"previous,omitempty"`
	// Roles are those that the application credential in use was made with, sorted. None: those that the user had.
	Roles []string `json:"roles,omitempty"`
	// Staged is the name of the credential that is being made, and StagedRoles are its roles. Its secret is in the Secret already.
	Staged      string   `json:"staged,omitempty"`
	StagedRoles []string `json:"stagedRoles,omitempty"`
	// PendingRevocation are the IDs of credentials that nobody uses: they are revoked one by one.
	PendingRevocation []string `json:"condemned,omitempty"`
	// OthersRevoked is set when every other credential of this rotation is revoked.
	OthersRevoked bool `json:"clean,omitempty"`
}

// replaced is the record when the staged credential is in use.
func (r record) replaced(id, value string, now time.Time) record {
	return record{
		Rotation: r.Rotation, ID: id, Digest: digest(id, value), Since: now, Previous: r.ID, PendingRevocation: r.PendingRevocation, Roles: r.StagedRoles,
	}
}

// withMissingConsumers is the record when these consumers, too, are known not to exist yet.
func (r record) withMissingConsumers(absent []string) record {
	r.MissingConsumers = append(slices.Clone(r.MissingConsumers), absent...)
	return r
}

// revoked is the record when nothing but the credential in use is left.
func (r record) revoked() record {
	r.PendingRevocation, r.Previous, r.OthersRevoked = nil, "", true
	return r
}

// digest of a credential. Only who reads the Secret reads it.
func digest(id, value string) string {
	const digits = 32
	return names.Hash(digits, id, value)
}

// stagedPrefix begins the key of what is secret while a credential is made; consumers do not read it.
const stagedPrefix = "staged_"

func (obs *observation) stagedKey() string {
	_, key := obs.target.keys()
	return stagedPrefix + key
}

func (obs *observation) value() string {
	_, key := obs.target.keys()
	return text(obs.secret, key)
}

func (obs *observation) staged() string { return text(obs.secret, obs.stagedKey()) }

func text(s *corev1.Secret, key string) string {
	if s == nil {
		return ""
	}
	return string(s.Data[key])
}
