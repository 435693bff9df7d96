package c5c3

import (
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Name of the companion's Deployment and of its service account in the namespace of every control plane.
const Name = "companion"

// SuffixDigits is how much of a hash a derived name keeps.
const SuffixDigits = 10

// DerivedName is a name with a suffix, cut and hashed where it would be longer than a Job's may be, of whose name its pods' are
// made.
func DerivedName(name, suffix string) string {
	const limit = 63
	if capacity := limit - 1 - len(suffix); len(name) > capacity {
		name = strings.TrimRight(name[:capacity-SuffixDigits-1], "-.") + "-" + names.Hash(SuffixDigits, name)
	}
	return name + "-" + suffix
}

// RestoreName is the name of the Secret into which the store's copy of a KeyRepository's keys comes, for its comparison with what is there,
// and of the ExternalSecret that asks for it.
func RestoreName(keys string) string { return DerivedName(keys, "restore") }
