package keys

import (
	"maps"
	"time"
)

// RetirementLog contains, by index, until when keys that no longer encrypt are needed. The number of keys is not sufficient:
// delayed rotations may follow each other closely, and schedules and lifetimes change.
type RetirementLog map[int]time.Time

// Retire records that, from now on, only the primary encrypts: each other key that once encrypted and has no entry yet is
// needed for one more lifetime. It returns a new log of the existing keys.
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

// Free returns the time from which a rotation to at most limit keys purges no key that is needed; the zero time if it purges
// none. If one of the keys has no entry, it may still encrypt: ok is false, and the time is unknown.
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

// Of returns the entries for the keys of a set.
func (l RetirementLog) Of(s Set) RetirementLog {
	next := maps.Clone(l)
	maps.DeleteFunc(next, func(index int, _ time.Time) bool { _, ok := s[index]; return !ok })
	return next
}
