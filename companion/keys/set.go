package keys

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// Staged is the index of the key that becomes primary at the next rotation.
const Staged = 0

// size of a Fernet key in bytes: half of it signs, half of it encrypts (https://github.com/fernet/spec/blob/master/Spec.md).
const size = 32

// minimum number of keys in a repository: staged and primary.
const minimum = 2

// Key is 32 random bytes in URL-safe base64, as required by Fernet.
type Key string

// Set is a key repository: keys by index.
type Set map[int]Key

// Setup creates a repository that has never rotated: a staged key and primary 1. It fails only if the random source fails.
func Setup(random io.Reader) (Set, error) {
	s := Set{}
	for _, index := range []int{Staged, 1} {
		key, err := newKey(random)
		if err != nil {
			return nil, err
		}
		s[index] = key
	}
	return s, nil
}

// Rotate returns the repository after a rotation that keeps at most limit keys, including the staged one. The set itself is
// not changed. It fails if the set has no staged or no primary key, if the limit is less than 2, and if the random source
// fails.
func (s Set) Rotate(random io.Reader, limit int) (Set, error) {
	if limit < minimum {
		return nil, fmt.Errorf("cannot rotate: a repository keeps at least %d keys, not %d", minimum, limit)
	}
	if _, ok := s[Staged]; !ok || s.Primary() == Staged {
		return nil, fmt.Errorf("cannot rotate: the repository has keys %v, but needs a staged key 0 and a primary", s.Indexes())
	}
	staged, err := newKey(random)
	if err != nil {
		return nil, err
	}
	next := maps.Clone(s)
	next[s.Primary()+1] = s[Staged]
	next[Staged] = staged
	for _, index := range s.Purged(limit) {
		delete(next, index)
	}
	return next, nil
}

// Purged returns the indexes of the keys that a rotation would remove to keep at most limit keys, the lowest first. The
// staged key, which becomes primary, is never included; with a limit of 2, the old primary is.
func (s Set) Purged(limit int) []int {
	old := s.Indexes()
	if len(old) > 0 && old[0] == Staged {
		old = old[1:]
	}
	excess := min(max(len(s)+1-limit, 0), len(old))
	return old[:excess]
}

// Primary returns the index of the key that encrypts; 0 if none exists.
func (s Set) Primary() int {
	highest := Staged
	for index := range s {
		highest = max(highest, index)
	}
	return highest
}

// Indexes returns the indexes of all keys, the lowest first.
func (s Set) Indexes() []int {
	return slices.Sorted(maps.Keys(s))
}

// Data returns the set as files or entries of a Secret, named by index.
func (s Set) Data() map[string][]byte {
	data := make(map[string][]byte, len(s))
	for index, key := range s {
		data[strconv.Itoa(index)] = []byte(key)
	}
	return data
}

// Hash returns a hash of the set: 32 hex digits of a SHA-256 of indexes and keys. It does not reveal the keys, because they
// are random.
func (s Set) Hash() string { return Hash(s.Data()) }

// Hash returns a hash of the entries of a Secret, also if they are not keys: 32 hex digits.
func Hash(data map[string][]byte) string {
	const digits = 32
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%d %s %d ", len(name), name, len(data[name]))
		h.Write(data[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

func newKey(random io.Reader) (Key, error) {
	raw := make([]byte, size)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("cannot generate a key: %w", err)
	}
	return Key(base64.URLEncoding.EncodeToString(raw)), nil
}
