package c5c3

import (
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Name of the companion's Deployment and service account in the namespace of every control plane.
const Name = "companion"

// SuffixDigits is the number of digits of a hash in a derived name.
const SuffixDigits = 10

// DerivedName returns name with a suffix, shortened with a hash to the limit of a Job's name, because the names of its pods are
// derived from it.
func DerivedName(name, suffix string) string {
	const limit = 63
	if capacity := limit - 1 - len(suffix); len(name) > capacity {
		name = strings.TrimRight(name[:capacity-SuffixDigits-1], "-.") + "-" + names.Hash(SuffixDigits, name)
	}
	return name + "-" + suffix
}

// RestoreName returns the name of the Secret with the store's copy of the keys of a KeyRepository, which is compared with the current keys,
// and of the ExternalSecret that creates it.
func RestoreName(keys string) string { return DerivedName(keys, "restore") }
