package credentialrotation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// recordAnnotation is the annotation of the Secret that contains the record.
const recordAnnotation = "c5c3.io/credential-record"

// record is the state of the credential in a Secret. It is stored in the same Secret and written in the same call.
type record struct {
	// Rotation is the name of the CredentialRotation that wrote it.
	Rotation string `json:"rotation"`
	// ID of the credential in use: the ID of an application credential in Keystone, the name of a queue user, or a random ID
	// of a password. Empty if no credential exists yet.
	ID string `json:"id,omitempty"`
	// Digest of the credential as it was written. A different digest means that the Secret was modified.
	Digest string `json:"digest,omitempty"`
	// Since is the time at which the credential was written.
	Since time.Time `json:"since"`
	// Distributed is the time at which every consumer was observed to have the credential.
	Distributed *time.Time `json:"distributed,omitempty"`
	// MissingConsumers are the consumers that did not exist when the credential was already in the Secret: all of their pods
	// start with it.
	MissingConsumers []string `json:"awaited,omitempty"`
	// Previous is the ID of the previous credential, until it is revoked.
	Previous string `json:"previous,omitempty"`
	// Roles of the application credential in use, sorted. Empty if it was created with all roles of the user.
	Roles []string `json:"roles,omitempty"`
	// Staged is the name of the credential that is being created, and StagedRoles are its roles. The Secret already contains
	// its secret.
	Staged      string   `json:"staged,omitempty"`
	StagedRoles []string `json:"stagedRoles,omitempty"`
	// PendingRevocation are the IDs of unused credentials, which are revoked one by one.
	PendingRevocation []string `json:"condemned,omitempty"`
	// OtherCredentialsRevoked is set when all other credentials of this rotation are revoked.
	OtherCredentialsRevoked bool `json:"clean,omitempty"`
}

// replaced returns the record for the staged credential being in use.
func (r record) replaced(id, value string, now time.Time) record {
	return record{
		Rotation: r.Rotation, ID: id, Digest: digest(id, value), Since: now, Previous: r.ID, PendingRevocation: r.PendingRevocation,
		Roles: r.StagedRoles,
	}
}

// withMissingConsumers returns the record with additional missing consumers.
func (r record) withMissingConsumers(absent []string) record {
	r.MissingConsumers = append(slices.Clone(r.MissingConsumers), absent...)
	return r
}

// revoked returns the record for the state in which only the credential in use is valid.
func (r record) revoked() record {
	r.PendingRevocation, r.Previous, r.OtherCredentialsRevoked = nil, "", true
	return r
}

// digest returns the hash of a credential. It is stored only in the Secret.
func digest(id, value string) string {
	const digits = 32
	return names.Hash(digits, id, value)
}

// stagedPrefix is the prefix of the key of a staged secret; consumers do not read it.
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
