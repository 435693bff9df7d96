package keys

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Parse reads a set from the entries of a Secret, which may have been modified. The error contains a sentence for each entry
// that Keystone cannot use and for each missing key, and never a key.
func Parse(data map[string][]byte) (Set, error) {
	var problems []error
	set := Set{}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		index, err := parseIndex(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if err := checkKey(data[name]); err != nil {
			problems = append(problems, fmt.Errorf("key %d %w", index, err))
		}
		set[index] = Key(data[name])
	}
	problems = append(problems, set.gaps()...)
	problems = append(problems, set.duplicates()...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return set, nil
}

// parseIndex accepts only the canonical spelling of a number: Keystone reads "01" and "1" as the same key, and uses either.
func parseIndex(name string) (int, error) {
	index, err := strconv.ParseInt(name, 10, 32)
	if err != nil || index < 0 || strconv.FormatInt(index, 10) != name {
		return 0, fmt.Errorf("entry %q is not a key: keys are named 0, 1, 2 and so on", name)
	}
	return int(index), nil
}

func checkKey(key []byte) error {
	if len(key) == 0 {
		return errors.New("is empty: Keystone would ignore it")
	}
	raw, err := base64.URLEncoding.Strict().DecodeString(string(key))
	// The decoder skips line ends, so the length is also checked.
	if err != nil || len(raw) != size || len(key) != base64.URLEncoding.EncodedLen(size) {
		return fmt.Errorf("is malformed: a key must be %d bytes in URL-safe base64, exactly %d characters",
			size, base64.URLEncoding.EncodedLen(size))
	}
	if bytes.Equal(raw, make([]byte, size)) {
		return errors.New("is the null key, which is publicly known")
	}
	return nil
}

func (s Set) gaps() []error {
	var problems []error
	if _, ok := s[Staged]; !ok {
		problems = append(problems, errors.New("key 0, the staged one, is missing"))
	}
	indexes := s.Indexes()
	if s.Primary() == Staged {
		problems = append(problems, errors.New("there is no primary key: no index is higher than 0"))
	}
	for i := 1; i < len(indexes); i++ {
		before, after := indexes[i-1], indexes[i]
		if before != Staged && after != before+1 {
			problems = append(problems, fmt.Errorf("keys between %d and %d are missing", before, after))
		}
	}
	return problems
}

func (s Set) duplicates() []error {
	var problems []error
	observed := map[Key]int{}
	for _, index := range s.Indexes() {
		if first, ok := observed[s[index]]; ok && s[index] != "" {
			problems = append(problems, fmt.Errorf("keys %d and %d are the same", first, index))
			continue
		}
		observed[s[index]] = index
	}
	return problems
}
