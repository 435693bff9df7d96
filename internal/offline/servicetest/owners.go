package servicetest

import (
	"cmp"
	"encoding/json"
	"hash/crc32"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Owners tests that options of a service do not contradict values that are computed from its spec.
type Owners[M service.Instance] struct {
	// Derive derives the model from a spec.
	Derive func(spec []byte) (M, error)
	// Groups lists the groups that the specs define, such as stores.
	Groups []registry.Group
	// Tunable lists computed options that a tenant may override, as "group option", in addition to the list of CheckOwners.
	Tunable []string
}

// batch is the number of settings that share a spec of CheckEachOption.
const batch = 16

// CheckEachOption tests that no option of any release, by any of its names and with unknown options allowed, overrides a computed value.
// The specs are files in testdata. make test tries each setting in one of the releases, and make test-long in all of them.
//
// Second values of accepted options share specs, because a model is expensive. A rejected spec is divided, so that each setting is accepted
// or rejected alone.
func (o Owners[M]) CheckEachOption(t *testing.T, app string, files ...string) {
	t.Helper()
	accepted, tried := 0, 0
	chosen := o.releases(t, app)
	for i, known := range registry.All(app) {
		file := files[i%len(files)]
		spec := Spec(t, file)
		spec["openStackRelease"], spec["allowUnknown"] = known.Release, true
		rejected := map[registry.Name]bool{}
		rounds := roundsOf(o.options(t, known), func(name registry.Name) bool { return effort.Long() || chosen[name] == known.Release })
		for _, settings := range rounds {
			tried += len(settings)
		}
		for _, round := range slices.SortedFunc(maps.Keys(rounds), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
			// Most first values are rejected or accepted for the name alone: options whose first value is accepted share specs afterwards.
			isAlone := func(s setting) bool { return round[1] == 0 || rejected[s.name] }
			alone := slices.DeleteFunc(slices.Clone(rounds[round]), func(s setting) bool { return !isAlone(s) })
			shared := slices.DeleteFunc(slices.Clone(rounds[round]), isAlone)
			for part := range slices.Chunk(shared, batch) {
				accepted += o.check(t, file, spec, part, rejected)
			}
			for part := range slices.Chunk(alone, 1) {
				accepted += o.check(t, file, spec, part, rejected)
			}
		}
	}
	if accepted*10 < tried {
		t.Errorf("only %d of %d specs were accepted", accepted, tried)
	}
}

// roundsOf returns the settings of the chosen names of options, by the positions of name and value: each round has one value of one name of
// each option, because a spec cannot have two.
func roundsOf(options []*registry.Option, isChosen func(registry.Name) bool) map[[2]int][]setting {
	out := map[[2]int][]setting{}
	for _, option := range options {
		for n, name := range Names(option) {
			if !isChosen(name) {
				continue
			}
			for v, value := range Values(option) {
				out[[2]int{n, v}] = append(out[[2]int{n, v}], setting{name, value})
			}
		}
	}
	return out
}

// setting is a value of an option.
type setting struct {
	name  registry.Name
	value any
}

// check tests a spec with all of the settings, or parts of them if it is rejected. It returns the number of accepted settings, and adds the
// names of the others to rejected.
func (o Owners[M]) check(t *testing.T, file string, spec map[string]any, all []setting, rejected map[registry.Name]bool) int {
	t.Helper()
	config := map[string]any{}
	for _, s := range all {
		group, ok := config[s.name.Group].(map[string]any)
		if !ok {
			group = map[string]any{}
			config[s.name.Group] = group
		}
		group[s.name.Option] = s.value
	}
	spec["config"] = config
	m, ok := o.derive(t, spec)
	switch {
	case ok:
		CheckOwners(t, m, o.Tunable...)
		if t.Failed() {
			t.Fatalf("%s: after one of %v", file, all)
		}
		return len(all)
	case len(all) == 1:
		rejected[all[0].name] = true
		return 0
	}
	half := len(all) / 2
	return o.check(t, file, spec, all[:half], rejected) + o.check(t, file, spec, all[half:], rejected)
}

// releases selects one of the releases that support a setting, for each setting. Checksums distribute names over releases.
func (o Owners[M]) releases(t *testing.T, app string) map[registry.Name]string {
	t.Helper()
	having := map[registry.Name][]string{}
	for _, known := range registry.All(app) {
		for name := range settings(o.options(t, known)) {
			if r := having[name]; !slices.Contains(r, known.Release) {
				having[name] = append(r, known.Release)
			}
		}
	}
	out := map[registry.Name]string{}
	for name, releases := range having {
		out[name] = releases[crc32.ChecksumIEEE([]byte(name.Group+" "+name.Option))%uint32(len(releases))] //nolint:gosec // there are four
	}
	return out
}

// options returns the options of a release, including options of groups that the specs define.
func (o Owners[M]) options(t *testing.T, known *registry.Registry) []*registry.Option {
	t.Helper()
	known, err := known.With(o.Groups...)
	if err != nil {
		t.Fatal(err)
	}
	options := Options(known)
	for _, g := range o.Groups {
		options = append(options, known.Options(g.Name)...)
	}
	return options
}

// derive returns the model of a spec, and reports whether the spec is valid.
func (o Owners[M]) derive(t *testing.T, spec map[string]any) (m M, ok bool) {
	t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = o.Derive(data); err != nil && !invalid.Is(err) {
		t.Fatal(err)
	}
	return m, err == nil
}

// settings returns options by all their names, with values of several types.
func settings(options []*registry.Option) iter.Seq2[registry.Name, any] {
	return func(yield func(registry.Name, any) bool) {
		for _, option := range options {
			for _, name := range Names(option) {
				for _, value := range Values(option) {
					if !yield(name, value) {
						return
					}
				}
			}
		}
	}
}

// Spec returns the spec in a file in testdata.
func Spec(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file+".yaml")) //nolint:gosec // a test names it
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// databaseTunable lists computed options of connections that a tenant may override, because no other value depends on them.
var databaseTunable = []string{"connection_recycle_time", "max_retries", "retry_interval"}

// CheckOwners compares the options in the file of a service with the computed options, and with the environment, except tunable options.
func CheckOwners(t rapid.TB, m service.Instance, tunable ...string) {
	t.Helper()
	s := m.Embedded()
	file, err := oslo.Parse(s.Files.Data[cmp.Or(s.ConfigFile, s.App+".conf")])
	if err != nil {
		t.Fatal(err)
	}
	own, err := s.ComputedOptions().Render()
	if err != nil {
		t.Fatal(err)
	}
	computed, err := oslo.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range databaseTunable {
		for _, d := range s.Databases {
			delete(computed[d.Group], option)
		}
	}
	for group, options := range computed {
		for option, values := range options {
			if got := file[group][option]; !slices.Equal(got, values) && !slices.Contains(tunable, group+" "+option) {
				t.Errorf("[%s] %s is %v in the file, but computed as %v", group, option, got, values)
			}
		}
	}
	checkEnvironment(t, file, m.APIPod().Containers)
}

// checkEnvironment tests that no option of a file is also set in the environment.
func checkEnvironment(t rapid.TB, file map[string]map[string][]string, containers []corev1.Container) {
	t.Helper()
	environment := map[string]bool{}
	for _, c := range containers {
		for _, e := range c.Env {
			environment[e.Name] = true
		}
	}
	for group, options := range file {
		for option := range options {
			if name, err := oslo.EnvName(group, option); err == nil && environment[name] {
				t.Errorf("[%s] %s is in the file and in the environment", group, option)
			}
		}
	}
}
