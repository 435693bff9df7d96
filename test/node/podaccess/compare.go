package podaccess

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

//go:embed accepted.yaml
var accepted []byte

// Accepted returns the summary that was reviewed.
func Accepted() ([]Kind, error) {
	var out []Kind
	err := yaml.UnmarshalStrict(accepted, &out)
	return out, err
}

// acceptedHeader is the first line of the accepted summary.
const acceptedHeader = "# Written by `make test-e2e RUN='^TestProbeFindsOnlyAcceptedAccess$$' ACCEPT=1`. " +
	"Review each change as an attacker would.\n"

// Marshal returns the file of an accepted summary.
func Marshal(kinds []Kind) ([]byte, error) {
	data, err := yaml.Marshal(kinds)
	return append([]byte(acceptedHeader), data...), err
}

// Compare returns the differences between an accepted summary and a new one, one a line: new entries and missing entries.
func Compare(accepted, observed []Kind) []string {
	before, after := byPods(accepted), byPods(observed)
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, known := before[name]
		current, exists := after[name]
		switch {
		case !known:
			out = append(out, fmt.Sprintf("%s: new kind of pod", name))
		case !exists:
			out = append(out, fmt.Sprintf("%s: missing kind of pod", name))
		default:
			out = append(out, differences(name, &old, &current)...)
		}
	}
	return out
}

func byPods(kinds []Kind) map[string]Kind {
	out := map[string]Kind{}
	for _, k := range kinds {
		out[k.Pods] = k
	}
	return out
}

func differences(name string, old, current *Kind) []string {
	var out []string
	before, after := old.sections(), current.sections()
	for _, section := range slices.Sorted(maps.Keys(before)) {
		for _, entry := range *after[section] {
			if !slices.Contains(*before[section], entry) {
				out = append(out, fmt.Sprintf("%s: %s: new: %s", name, section, entry))
			}
		}
		for _, entry := range *before[section] {
			if !slices.Contains(*after[section], entry) {
				out = append(out, fmt.Sprintf("%s: %s: missing: %s", name, section, entry))
			}
		}
	}
	return out
}
