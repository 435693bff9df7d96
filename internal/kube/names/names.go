// Package names derives the names of what we make. A name never changes once it is in use: objects are found by it, and
// data outlives the claim under it.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Digits of the hash in an instance's name. 20 are 80 bits: nobody finds a second claim with the hash of a given one. LegacyInstance
// has 20 bits, of which a second is found in a moment.
const (
	hashDigits       = 20
	legacyHashDigits = 5
)

// Instance names everything that belongs to one claim: <namespace>-<name>-<20 hex of the hash of both>. It is a DNS label (at most 63
// characters; the readable part is cut, the hash stays), and the same again when the claim is deleted and created again.
func Instance(namespace, name string) string { return instance(hashDigits, namespace, name) }

// LegacyInstance is the name that versions before the 20 digits gave. Two claims can be made to have the same: it is only ever used for a
// control plane that is known to have it already.
func LegacyInstance(namespace, name string) string {
	return instance(legacyHashDigits, namespace, name)
}

func instance(digits int, namespace, name string) string {
	const limit = 63
	suffix := "-" + Hash(digits, namespace, name)
	prefix := strings.TrimPrefix(strings.ReplaceAll(namespace+"-"+name, ".", "-"), "-") // What no claim has ordered has no namespace.
	if len(prefix) > limit-len(suffix) {
		prefix = strings.TrimRight(prefix[:limit-len(suffix)], "-")
	}
	return prefix + suffix
}

// Shared is with what names begin of what belongs to one claim where others have things, too, and where a name has less room than an
// instance's: os_<the 20 hex with which Instance ends>.
func Shared(namespace, name string) string { return "os_" + Hash(hashDigits, namespace, name) }

// HashOf is the hash of a value of maps, lists and what is in them.
func HashOf(n int, v any) string {
	// Maps of strings are written in the order of their keys, and never fail.
	text, _ := json.Marshal(v) //nolint:errchkjson // See above.
	return Hash(n, string(text))
}

// Hash is the first n hex digits (64 at most) of the SHA-256 of the parts, in which ("a", "bc") and ("ab", "c") differ.
func Hash(n int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:n]
}
