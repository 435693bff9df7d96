// Package names derives the names of composed objects. A name must never change once it is in use: objects are found by it, and
// data outlives the claim under it.
package names

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strings"
)

// hashDigits is the length of the hash in an instance's name. 20 digits are 80 bits: a second claim with the hash of a given one cannot
// be found. legacyHashDigits are 20 bits, for which a collision is found in a moment.
const (
	hashDigits       = 20
	legacyHashDigits = 5
)

// Instance returns the name for all objects of one claim: <namespace>-<name>-<20 hex of the hash of both>. It is a DNS label (at most 63
// characters; the readable part is cut, not the hash), and the same after the claim is deleted and created again.
func Instance(namespace, name string) string { return instance(hashDigits, namespace, name) }

// LegacyInstance returns the name that versions with a shorter hash used. Collisions can be created deliberately: use it only for a
// control plane that already has it.
func LegacyInstance(namespace, name string) string {
	return instance(legacyHashDigits, namespace, name)
}

func instance(digits int, namespace, name string) string {
	const limit = 63
	suffix := "-" + Hash(digits, namespace, name)
	prefix := strings.TrimPrefix(strings.ReplaceAll(namespace+"-"+name, ".", "-"), "-") // No namespace without a claim.
	if len(prefix) > limit-len(suffix) {
		prefix = strings.TrimRight(prefix[:limit-len(suffix)], "-")
	}
	return prefix + suffix
}

// Shared returns the name prefix for objects of one claim in a shared system, or with a shorter limit than an instance's name:
// os_<the 20 hex at the end of Instance>.
func Shared(namespace, name string) string { return "os_" + Hash(hashDigits, namespace, name) }

// Bounded returns a name with at most 63 characters, the limit of a label's value and of an annotation's name: the given name, or its
// beginning and a hash.
func Bounded(name string) string {
	const limit, digits = 63, 10
	if len(name) <= limit {
		return name
	}
	return name[:limit-digits-1] + "-" + Hash(digits, name)
}

// HashOf returns the hash of a value that consists of maps, lists and scalars.
func HashOf(n int, v any) string {
	h := sha256.New()
	// An encoder writes its buffer without a copy: the scripts of a pool have 100 kB. Maps of strings are written in the order of their keys,
	// and never fail.
	_ = json.NewEncoder(lines{h}).Encode(v) //nolint:errchkjson // See above.
	return digits(h, n)
}

// lines ends parts with a zero byte, as Hash does, instead of the new line of an encoder.
type lines struct{ hash.Hash }

func (l lines) Write(p []byte) (int, error) {
	l.Hash.Write(bytes.TrimSuffix(p, []byte("\n")))
	l.Hash.Write([]byte{0})
	return len(p), nil
}

// Hash returns the first n hex digits (64 at most) of the SHA-256 of the parts, in which ("a", "bc") and ("ab", "c") differ.
func Hash(n int, parts ...string) string {
	h := sha256.New()
	var buffer []byte
	for _, p := range parts {
		buffer = append(append(buffer[:0], p...), 0)
		h.Write(buffer)
	}
	return digits(h, n)
}

// digits returns the first n hex digits of a hash.
func digits(h hash.Hash, n int) string { return hex.EncodeToString(h.Sum(nil))[:n] }
