package invariants

import (
	"encoding/json"
	"slices"
	"sync"

	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// A setting is an option with a value that a service accepts in every release.
type setting struct {
	group, option string
	value         any
}

// options draws some options of a service.
func options(service string) constraint {
	return someOf(service, func(release string, over common.Overrides) error {
		_, err := override.Options(service, release, over, "spec")
		return err
	})
}

// computeOptions draws some options of nova-compute.
func computeOptions() constraint {
	return someOf("nova", func(release string, over common.Overrides) error {
		_, err := override.Compute(release, over.Config)
		return err
	})
}

// someOf draws some options of a service that every release accepts.
func someOf(service string, check func(release string, over common.Overrides) error) constraint {
	all := sync.OnceValue(func() []setting { return settings(service, check) })
	return constraint{instead: rapid.Custom(func(t *rapid.T) any {
		out := object{}
		for range rapid.IntRange(0, most).Draw(t, "options") {
			s := rapid.SampledFrom(all()).Draw(t, "option")
			put(out, s.value, s.group, s.option)
		}
		return out
	})}
}

func settings(service string, check func(release string, over common.Overrides) error) []setting {
	releases := registry.All(service)
	var out []setting
	for _, o := range servicetest.Options(releases[0]) {
		for _, value := range servicetest.Values(o) {
			raw, err := json.Marshal(value)
			if err != nil {
				panic(err)
			}
			over := common.Overrides{Config: common.Config{o.Group: {o.Name: {Raw: raw}}}}
			refuses := func(r *registry.Registry) bool { return check(r.Release, over) != nil }
			if !slices.ContainsFunc(releases, refuses) {
				out = append(out, setting{o.Group, o.Name, value})
			}
		}
	}
	return out
}

// rules draws some rules of a service.
func rules(service string) constraint {
	all := sync.OnceValue(func() []string {
		releases := registry.All(service)
		return slices.DeleteFunc(releases[0].Rules(), func(rule string) bool {
			return slices.ContainsFunc(releases, func(r *registry.Registry) bool { return r.CheckPolicy(rule, "@") != nil })
		})
	})
	return constraint{instead: rapid.Custom(func(t *rapid.T) any {
		out := object{}
		for range rapid.IntRange(0, most).Draw(t, "rules") {
			rule := rapid.SampledFrom(all()).Draw(t, "rule")
			out[rule] = rapid.SampledFrom([]string{"@", "!", "role:auditor or user_id:%(user_id)s"}).Draw(t, "check")
		}
		return out
	})}
}
