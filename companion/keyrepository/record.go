package keyrepository

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// recordAnnotation is the annotation of the Secret that contains the record.
const recordAnnotation = "openstack.c5c3.io/key-record"

// record is the state of the keys in a Secret. It is stored in the same Secret and written in the same call, because the
// status may be outdated or lost.
type record struct {
	// Hash of the keys as they were written. A different hash means that the Secret was modified.
	Hash string `json:"hash"`
	// Rotated is the time at which the keys were written: created, restored, adopted or rotated.
	Rotated time.Time `json:"rotated"`
	// Lifetime in seconds of data encrypted with the primary key, at the time when the keys were written.
	Lifetime int64 `json:"lifetimeSeconds"`
	// Distributed is the time at which all pods were observed to have the keys.
	Distributed *time.Time `json:"distributed,omitempty"`
	// MissingConsumers are the consumers that did not exist when the keys were already in the Secret: all of their pods start
	// with these keys.
	MissingConsumers []string `json:"awaited,omitempty"`
	// Migrated is set when all stored data is encrypted with the primary key.
	Migrated bool `json:"migrated,omitempty"`
	// NeededUntil contains, for each key that no longer encrypts, how long it is needed for decryption.
	NeededUntil keys.RetirementLog `json:"neededUntil,omitempty"`
}

// writeTo sets the data and the record of a Secret.
func (r record) writeTo(s *corev1.Secret, set keys.Set) {
	r.Hash, s.Data = set.Hash(), set.Data()
	jsonannotation.Write(&s.ObjectMeta, recordAnnotation, r)
}

// created returns the record of new keys, with which nothing is encrypted yet.
func created(now time.Time, lifetime time.Duration) record {
	return record{Rotated: now.UTC(), Lifetime: seconds(lifetime), Migrated: true}
}

// found returns the record of keys with unknown history: keys other than the primary may have encrypted data until now.
func found(set keys.Set, now time.Time, lifetime time.Duration) record {
	return record{
		Rotated: now.UTC(), Lifetime: seconds(lifetime),
		NeededUntil: keys.RetirementLog{}.Retire(set, now, lifetime),
	}
}

// rotated returns the record after a rotation to the given set.
func (r record) rotated(set keys.Set, now time.Time, lifetime time.Duration) record {
	return record{Rotated: now.UTC(), Lifetime: seconds(lifetime), NeededUntil: r.NeededUntil.Of(set)}
}

// distributed returns the record for the keys being distributed to all pods: from now on only the primary key encrypts. Data
// encrypted with the previous key lives as long as the longer of the recorded and the current lifetime.
func (r record) distributed(set keys.Set, now time.Time, lifetime time.Duration) record {
	at := now.UTC()
	r.Distributed = &at
	r.NeededUntil = r.NeededUntil.Retire(set, now, max(lifetime, time.Duration(r.Lifetime)*time.Second))
	return r
}

// withMissingConsumers returns the record with additional missing consumers.
func (r record) withMissingConsumers(absent []string) record {
	r.MissingConsumers = append(slices.Clone(r.MissingConsumers), absent...)
	return r
}

func (r record) migrated() record {
	r.Migrated = true
	return r
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
