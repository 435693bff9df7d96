package keyrepository

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// recordAnnotation of the Secret holds the record.
const recordAnnotation = "openstack.c5c3.io/key-record"

// record is what the controller knows of the keys in a Secret. It is kept beside them and written with them in one call: what
// the status says may be older, or lost.
type record struct {
	// Hash of the keys as they were written. Other keys were written by someone else.
	Hash string `json:"hash"`
	// Rotated is when the keys were written: created, restored, adopted or rotated.
	Rotated time.Time `json:"rotated"`
	// Lifetime of what the primary encrypts, in seconds, when the keys were written.
	Lifetime int64 `json:"lifetimeSeconds"`
	// Distributed is when it was seen that every pod has the keys.
	Distributed *time.Time `json:"distributed,omitempty"`
	// MissingConsumers are the consumers that did not exist when the keys were already in the Secret: whenever they are made, all of their
	// pods are started with these keys.
	MissingConsumers []string `json:"awaited,omitempty"`
	// Migrated is set when everything stored is encrypted with the primary key.
	Migrated bool `json:"migrated,omitempty"`
	// NeededUntil says of keys that no longer encrypt how long they still decrypt something.
	NeededUntil keys.RetirementLog `json:"neededUntil,omitempty"`
}

// writeTo puts a set and its record into a Secret, and nothing else.
func (r record) writeTo(s *corev1.Secret, set keys.Set) {
	r.Hash, s.Data = set.Hash(), set.Data()
	live.WriteRecord(&s.ObjectMeta, recordAnnotation, r)
}

// created is the record of keys that nothing is encrypted with yet.
func created(now time.Time, lifetime time.Duration) record {
	return record{Rotated: now.UTC(), Lifetime: seconds(lifetime), Migrated: true}
}

// found is the record of keys of unknown history: whatever is not primary may have encrypted until now.
func found(set keys.Set, now time.Time, lifetime time.Duration) record {
	return record{
		Rotated: now.UTC(), Lifetime: seconds(lifetime),
		NeededUntil: keys.RetirementLog{}.Retire(set, now, lifetime),
	}
}

// rotated is the record after a rotation to the given set.
func (r record) rotated(set keys.Set, now time.Time, lifetime time.Duration) record {
	return record{Rotated: now.UTC(), Lifetime: seconds(lifetime), NeededUntil: r.NeededUntil.Of(set)}
}

// distributed is the record when every pod has the keys: from now on only the primary encrypts. What the one before it
// encrypted lives as long as was said then or is said now, whichever is longer.
func (r record) distributed(set keys.Set, now time.Time, lifetime time.Duration) record {
	at := now.UTC()
	r.Distributed = &at
	r.NeededUntil = r.NeededUntil.Retire(set, now, max(lifetime, time.Duration(r.Lifetime)*time.Second))
	return r
}

// withMissingConsumers is the record when some consumers were found not to exist.
func (r record) withMissingConsumers(absent []string) record {
	r.MissingConsumers = append(slices.Clone(r.MissingConsumers), absent...)
	return r
}

func (r record) migrated() record {
	r.Migrated = true
	return r
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
