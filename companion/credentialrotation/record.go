package credentialrotation

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/names"
)

// recordAnnotation of the Secret holds the record.
const recordAnnotation = "c5c3.io/credential-record"

// record is what the controller knows of the credential in a Secret. It is kept beside it and written with it in one call.
type record struct {
	// Rotation is the name of the CredentialRotation that wrote it.
	Rotation string `json:"rotation"`
	// ID of the credential in use: an application credential's in Keystone, a random one of a password. None: there is none yet.
	ID string `json:"id,omitempty"`
	// Digest of the credential as it was written. Another one was written by somebody else.
	Digest string `json:"digest,omitempty"`
	// Since is when it was written.
	Since time.Time `json:"since"`
	// Distributed is when it was seen that every consumer has it.
	Distributed *time.Time `json:"distributed,omitempty"`
	// Previous is the ID of the one before, until that is revoked.
	Previous string `json:"previous,omitempty"`
	// Staged is the name of the credential that is being made. Its secret is in the Secret already.
	Staged string `json:"staged,omitempty"`
	// Condemned are the IDs of application credentials that nobody uses: they are revoked one by one.
	Condemned []string `json:"condemned,omitempty"`
	// Clean is set when every other application credential of this rotation is revoked.
	Clean bool `json:"clean,omitempty"`
}

// readRecord gives nil, and no error, for a Secret without a record.
func readRecord(s *corev1.Secret) (*record, error) {
	text, ok := s.Annotations[recordAnnotation]
	if !ok {
		return nil, nil
	}
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("annotation %s cannot be read: %w", recordAnnotation, err)
	}
	return r, nil
}

func (r record) writeTo(s *corev1.Secret) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot write the record of the credential: %w", err)
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[recordAnnotation] = string(text)
	return nil
}

// replaced is the record when the staged credential is in use.
func (r record) replaced(id, value string, now time.Time) record {
	return record{
		Rotation: r.Rotation, ID: id, Digest: digest(id, value), Since: now, Previous: r.ID, Condemned: r.Condemned,
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
