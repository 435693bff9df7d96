package keys

import (
	"maps"
	"time"
)

// A Ledger reports until when keys that no longer encrypt are needed, by index. The number of keys alone does not: rotations may be late
// and then come close to each other, and schedules and lifetimes change.
type RetirementLog map[int]time.Time

// Retire notes that, from a moment on, nothing but the primary encrypts: every other key that once did and has no entry yet is needed for
// one lifetime more. It returns a new ledger of the keys that exist.
func (l RetirementLog) Retire(s Set, now time.Time, lifetime time.Duration) RetirementLog {
	next := RetirementLog{}
	for _, index := range s.Indexes() {
		if index == Staged || index == s.Primary() {
			continue
		}
		until, ok := l[index]
		if !ok {
			until = now.Add(lifetime).UTC()
		}
		next[index] = until
	}
	return next
}

// Free is the moment from which a rotation to at most limit keys purges nothing that is needed: the zero time if there is no
// such key. A key without an entry may still encrypt; then ok is false, and there is no such moment yet.
func (l RetirementLog) Free(s Set, limit int) (from time.Time, ok bool) {
	for _, index := range s.Purged(limit) {
		until, known := l[index]
		if !known {
			return time.Time{}, false
		}
		if until.After(from) {
			from = until
		}
	}
	return from, true
}

// Of is the part of the ledger about keys of a set.
func (l RetirementLog) Of(s Set) RetirementLog {
	next := maps.Clone(l)
	maps.DeleteFunc(next, func(index int, _ time.Time) bool { _, ok := s[index]; return !ok })
	return next
}
