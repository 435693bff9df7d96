// Package names derives the names of what we make. A name never changes once it is in use: objects are found by it, and
// data outlives the claim under it.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Instance names everything that belongs to one claim: <namespace>-<name>-<5 hex of the hash of both>. It is a DNS label (at
// most 63 characters; the readable part is cut, the hash stays), and the same again when the claim is deleted and made
// anew.
func Instance(namespace, name string) string {
	const hash, limit = 5, 63
	suffix := "-" + Hash(hash, namespace, name)
	prefix := strings.ReplaceAll(namespace+"-"+name, ".", "-")
	if len(prefix) > limit-len(suffix) {
		prefix = strings.TrimRight(prefix[:limit-len(suffix)], "-")
	}
	return prefix + suffix
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
