package rotation

import (
	"fmt"
	"time"
)

// credentialKeys is how many credential keys Keystone keeps, a number that cannot be configured
// (keystone.credential.providers.fernet, MAX_ACTIVE_KEYS).
const credentialKeys = 3

// MaxKeys is the most keys that a repository may have: what the schema allows in maxActiveKeys.
const MaxKeys = 200

// KeyRequirement is a number of keys and why it is that.
type KeyRequirement struct {
	// Keys that have to be kept, the staged and the primary one included.
	Keys int
	// Lifetime is how long what a key has encrypted has to stay readable after the key has stopped encrypting.
	Lifetime time.Duration
	// Reason is the arithmetic, as a sentence without a full stop.
	Reason string
}

// NeededKeys is how many keys a repository of tokens has to keep: a key that has stopped encrypting is needed for as long as
// a token lives, which takes ceil(lifetime / shortest interval) rotations; the primary and the staged key come on top.
// https://docs.openstack.org/keystone/latest/admin/fernet-token-faq.html
func NeededKeys(expiration, allowExpiredWindow time.Duration, s Schedule) KeyRequirement {
	lifetime, interval := expiration+allowExpiredWindow, s.Shortest()
	rotations := int((lifetime + interval - 1) / interval)
	const primaryAndStaged = 2
	return KeyRequirement{
		Keys:     rotations + primaryAndStaged,
		Lifetime: lifetime,
		Reason: fmt.Sprintf("a token is accepted for %s (expiration %s + allowed expired window %s), and schedule %q rotates every %s at the "+
			"shortest: ceil(%s / %s) = %d, and 2 for the primary and the staged key, makes %d keys",
			lifetime, expiration, allowExpiredWindow, s, interval, lifetime, interval, rotations, rotations+primaryAndStaged),
	}
}

// NeededCredentialKeys is how many keys a repository of stored credentials keeps. After each rotation everything is re-encrypted, so that
// the schedule does not matter.
func NeededCredentialKeys() KeyRequirement {
	return KeyRequirement{Keys: credentialKeys, Reason: fmt.Sprintf("Keystone keeps %d credential keys", credentialKeys)}
}
