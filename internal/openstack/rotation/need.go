package rotation

import (
	"fmt"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// credentialKeys is the number of credential keys that Keystone keeps. It cannot be configured
// (keystone.credential.providers.fernet, MAX_ACTIVE_KEYS).
const credentialKeys = 3

// MaxKeys is the maximum number of keys of a repository, as in the schema of maxActiveKeys.
const MaxKeys = 200

// KeyRequirement is a required number of keys with the reason.
type KeyRequirement struct {
	// Keys is the number of keys, including the staged and the primary one.
	Keys int
	// Lifetime is the time for which encrypted data must remain readable after its key has stopped encrypting.
	Lifetime time.Duration
	// Reason is the calculation, as a sentence without a period.
	Reason string
}

// NeededKeys returns the number of keys that a token repository must keep. A key that has stopped encrypting is needed for
// the lifetime of a token, which is ceil(lifetime / shortest interval) rotations; the primary and the staged key are added.
// https://docs.openstack.org/keystone/latest/admin/fernet-token-faq.html
func NeededKeys(expiration, allowExpiredWindow time.Duration, s schedule.Schedule) KeyRequirement {
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

// NeededCredentialKeys returns the number of keys that a credential repository keeps. All credentials are re-encrypted
// after each rotation, so the schedule is not relevant.
func NeededCredentialKeys() KeyRequirement {
	return KeyRequirement{Keys: credentialKeys, Reason: fmt.Sprintf("Keystone keeps %d credential keys", credentialKeys)}
}
